/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of the attacker's own process.
 *
 * Who includes this defines _GNU_SOURCE first.
 */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdint.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

#include "task.h"

enum { SMALL = 4096, HUGE = 512 * SMALL };

/* Aligned to HUGE. Nothing is there before it is touched. */
static inline char *reserve(size_t size)
{
	char *memory = mmap(NULL, size + HUGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		fail("mmap");
	return memory + (HUGE - (uintptr_t)memory % HUGE);
}

/* To be mapped by large pages, where the kernel has them, or never. */
static inline char *reserve_large(size_t size)
{
	char *memory = reserve(size);

	madvise(memory, size, MADV_HUGEPAGE);
	return memory;
}

static inline char *reserve_small(size_t size)
{
	char *memory = reserve(size);

	madvise(memory, size, MADV_NOHUGEPAGE);
	return memory;
}

/* Where memory is short the kernel leaves them off, unless it is told. */
static inline void allow_large_pages(void)
{
	FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "w");

	if (!file || fputs("madvise", file) < 0 || fclose(file))
		perror("no large pages for processes");
}

static inline void touch(volatile char *byte)
{
	*byte = 1;
}

/* It takes page tables only: what is read there is the one page of zeroes. */
static inline void peek(const volatile char *byte)
{
	(void)*byte;
}

static inline size_t free_memory(void)
{
	struct sysinfo info;

	if (sysinfo(&info))
		fail("sysinfo");
	return info.freeram * info.mem_unit;
}

#endif
