/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of the attacker's own process.
 *
 * Define _GNU_SOURCE before including this.
 */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdint.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

#include "task.h"

enum { SMALL = 4096, HUGE = 512 * SMALL };

/* Separate tables map each of these spaces, apart from the top ones. */
#define FIRST_SPACE (1UL << 40)
#define SPACE_SIZE  (1UL << 39)

/* Aligned to HUGE, and not populated. */
static inline char *reserve(size_t size)
{
	char *memory = mmap(NULL, size + HUGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		fail("mmap");
	return memory + (HUGE - (uintptr_t)memory % HUGE);
}

/* Large pages map the first of these, if the kernel has them, and never the second. */
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

/* In a small machine the kernel leaves them off by default. */
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

/* Memory in an unused part of the address space. */
static inline uint64_t new_space(void)
{
	static size_t spaces;
	char *wanted = (char *)(FIRST_SPACE + SPACE_SIZE * spaces++);
	char *memory = mmap(wanted, SMALL, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (memory != wanted)
		fail("mmap");
	touch(memory);
	return (uintptr_t)memory;
}

/* Takes only page tables: the read maps the shared page of zeros. */
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
