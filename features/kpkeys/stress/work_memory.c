// SPDX-License-Identifier: Apache-2.0
/*
 * Description: operations on the memory of a process. They read again what they wrote
 * after the page tables have changed: a wrong table shows as wrong contents.
 */
#define _GNU_SOURCE
#include "work.h"

#ifdef __x86_64__
#include <asm/ldt.h>
#endif
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Debian 12's headers are older. */
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum {
	AREA_PAGES = 1024,
	AREA = AREA_PAGES * PAGE,
	/* Room for an area that is aligned, or up to half a huge page beyond that. */
	HUGE_AREA = AREA + 2 * HUGE_PAGE,
	HANDLED = 64,
};

static void *area_at(void *hint, size_t size, int flags)
{
	void *area = mmap(hint, size, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_NORESERVE | flags,
			  -1, 0);

	return area == MAP_FAILED ? NULL : area;
}

/* The same area at every call, because a process does only one kind of work. */
static char *lasting_area(void)
{
	static char *area;

	if (!area)
		area = area_at(NULL, AREA, MAP_PRIVATE);
	return area;
}

/* Two huge pages in an area with room to align them. */
static char *huge_area(char **whole)
{
	*whole = area_at(NULL, HUGE_AREA, MAP_PRIVATE);
	if (!*whole)
		return NULL;
	return (char *)(((uintptr_t)*whole + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1));
}

static uint64_t *word(char *area, size_t page)
{
	return (uint64_t *)(area + page * PAGE + page % 64 * 8);
}

static void fill(char *area, size_t pages, uint64_t seed)
{
	for (size_t i = 0; i < pages; i++) {
		*word(area, i) = seed + i;
		answered();
	}
}

static void check(char *area, size_t pages, uint64_t seed, const char *what)
{
	for (size_t i = 0; i < pages; i++) {
		if (*word(area, i) != seed + i)
			wrong(what);
		answered();
	}
}

static bool do_fork(void)
{
	char *area = lasting_area();
	uint64_t seed = below(UINT32_MAX);
	pid_t child;

	if (!area)
		return false;
	fill(area, AREA_PAGES, seed);
	child = fork();
	if (child < 0)
		return false;
	if (child == 0) {
		check(area, AREA_PAGES, seed, "fork: contents in the child");
		fill(area, AREA_PAGES / 2, seed + 1);
		check(area, AREA_PAGES / 2, seed + 1, "fork: contents that the child wrote");
		_exit(0);
	}
	fill(area + AREA / 2, AREA_PAGES / 2, seed + 2);
	check(area, AREA_PAGES / 2, seed, "fork: contents in the parent");
	return ended_well(child);
}

static bool do_exec(void)
{
	pid_t child = fork();

	if (child < 0)
		return false;
	if (child == 0) {
		execl("/proc/self/exe", "stress", "0", NULL);
		_exit(1);
	}
	return ended_well(child);
}

/* At addresses far apart, for tables of all four or five levels. */
static bool do_map(void)
{
	uint64_t seed = below(UINT32_MAX);
	size_t pages = 1 + below(600);
	uintptr_t hint = (uintptr_t)below(1u << 31) << (below(2) ? 25 : 16);
	char *area = area_at((void *)(hint & ~(uintptr_t)(PAGE - 1)), pages * PAGE, MAP_PRIVATE);
	size_t kept = pages / 2;

	if (!area)
		return false;
	fill(area, pages, seed);
	munmap(area + kept * PAGE, (pages - kept) * PAGE);
	check(area, kept, seed, "map: contents beside what was unmapped");
	munmap(area, pages * PAGE);
	return true;
}

static bool do_huge(void)
{
	uint64_t seed = below(UINT32_MAX);
	size_t page = below(AREA_PAGES);
	char *whole, *area = huge_area(&whole);

	if (!area)
		return false;
	madvise(area, AREA, MADV_HUGEPAGE);
	fill(area, AREA_PAGES, seed);
	mprotect(area + page * PAGE, PAGE, PROT_READ);
	check(area, AREA_PAGES, seed, "huge: contents after a split");
	mprotect(area + page * PAGE, PAGE, PROT_READ | PROT_WRITE);
	madvise(area, AREA, MADV_COLLAPSE);
	check(area, AREA_PAGES, seed, "huge: contents after a collapse");
	madvise(area + page * PAGE, PAGE, MADV_DONTNEED);
	*word(area, page) = seed + page;
	madvise(area, AREA, MADV_COLLAPSE);
	check(area, AREA_PAGES, seed, "huge: contents after a hole");
	munmap(whole, HUGE_AREA);
	return true;
}

static bool do_mremap(void)
{
	uint64_t seed = below(UINT32_MAX);
	size_t pages = 1 + below(AREA_PAGES);
	char *from = area_at(NULL, AREA, MAP_PRIVATE), *whole, *to = huge_area(&whole);

	if (!from || !to)
		return false;
	fill(from, pages, seed);
	/* The kernel moves whole tables if both are aligned, otherwise entries. */
	if (below(2))
		to += below(256) * PAGE;
	if (mremap(from, pages * PAGE, pages * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
		wrong("mremap");
	check(to, pages, seed, "mremap: contents");
	munmap(from, AREA);
	munmap(whole, HUGE_AREA);
	return true;
}

static bool do_mprotect(void)
{
	char *area = lasting_area();
	size_t first = below(AREA_PAGES), pages = 1 + below((uint32_t)(AREA_PAGES - first));
	uint64_t seed = below(UINT32_MAX);

	if (!area)
		return false;
	fill(area, AREA_PAGES, seed);
	if (mprotect(area + first * PAGE, pages * PAGE, PROT_READ) ||
	    mprotect(area, AREA, PROT_READ | PROT_WRITE))
		return false;
	check(area, AREA_PAGES, seed, "mprotect: contents");
	return true;
}

/* Pages that the program itself puts in place and write-protects. */
static bool do_userfaultfd(void)
{
	static char pages[HANDLED * PAGE];
	uint64_t seed = below(UINT32_MAX);
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP };
	char *area = area_at(NULL, sizeof(pages), MAP_PRIVATE);
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_range range = { (uintptr_t)area, sizeof(pages) };
	struct uffdio_register missing = {
		.range = range,
		.mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP,
	};
	struct uffdio_copy copy = {
		.dst = range.start,
		.src = (uintptr_t)pages,
		.len = sizeof(pages),
		.mode = UFFDIO_COPY_MODE_WP,
	};
	struct uffdio_writeprotect writable = { .range = range };
	bool done;

	fill(pages, HANDLED, seed);
	done = area && fd >= 0 && !ioctl(fd, UFFDIO_API, &api) &&
	       !ioctl(fd, UFFDIO_REGISTER, &missing) && !ioctl(fd, UFFDIO_COPY, &copy);
	if (done)
		check(area, HANDLED, seed, "userfaultfd: contents");
	done = done && !ioctl(fd, UFFDIO_WRITEPROTECT, &writable);
	if (done) {
		fill(area, HANDLED, seed + 1);
		check(area, HANDLED, seed + 1, "userfaultfd: contents written");
	}
	if (fd >= 0)
		close(fd);
	if (area)
		munmap(area, sizeof(pages));
	return done;
}

static bool do_swap(void)
{
	char *area = lasting_area();
	uint64_t seed = below(UINT32_MAX);

	if (!area)
		return false;
	fill(area, AREA_PAGES, seed);
	if (madvise(area, AREA, MADV_PAGEOUT))
		return false;
	check(area, AREA_PAGES, seed, "swap: contents");
	return true;
}

static bool do_shared(void)
{
	uint64_t seed = below(UINT32_MAX);
	char *area = area_at(NULL, AREA, MAP_SHARED);
	pid_t child;

	if (!area)
		return false;
	fill(area, AREA_PAGES, seed);
	child = fork();
	if (child == 0) {
		madvise(area, AREA, MADV_PAGEOUT);
		check(area, AREA_PAGES, seed, "shared: contents in the child");
		fill(area, AREA_PAGES, seed + 1);
		_exit(0);
	}
	if (child < 0 || !ended_well(child)) {
		munmap(area, AREA);
		return false;
	}
	check(area, AREA_PAGES, seed + 1, "shared: contents in the parent");
	madvise(area, AREA / 2, MADV_REMOVE);
	check(area + AREA / 2, AREA_PAGES / 2, seed + 1 + AREA_PAGES / 2,
	      "shared: contents beside what was removed");
	munmap(area, AREA);
	return true;
}

/* Map, touch and unmap every other 64 KiB slot of `area`. */
static void *use_slots(void *area)
{
	enum { SLOT = 16 * PAGE };

	for (char *slot = area; slot < (char *)area + AREA - SLOT; slot += 2 * SLOT) {
		if (!area_at(slot, SLOT, MAP_PRIVATE | MAP_FIXED))
			continue;
		fill(slot, SLOT / PAGE, (uintptr_t)slot);
		check(slot, SLOT / PAGE, (uintptr_t)slot, "threads: contents");
		munmap(slot, SLOT);
	}
	return NULL;
}

/* Two threads whose slots share page tables, which come and go under them. */
static bool do_threads(void)
{
	char *area = lasting_area();
	pthread_t other;

	if (!area || pthread_create(&other, NULL, use_slots, area + 16 * PAGE))
		return false;
	use_slots(area);
	pthread_join(other, NULL);
	return true;
}

#ifdef __x86_64__
/* With page table isolation an LDT has page tables of its own. */
static bool do_ldt(void)
{
	struct user_desc entry = { .limit = 0xfffff, .seg_32bit = 1, .limit_in_pages = 1 };
	pid_t child = fork();

	if (child < 0)
		return false;
	if (child == 0) {
		for (entry.entry_number = 0; entry.entry_number < 8192; entry.entry_number += 700)
			if (syscall(SYS_modify_ldt, 1, &entry, sizeof(entry)))
				_exit(errno != ENOMEM);
		_exit(0);
	}
	return ended_well(child);
}
#endif

const struct kind memory_kinds[] = {
	{ "fork", do_fork, true },
	{ "exec", do_exec, true },
	{ "map", do_map, true },
	{ "huge", do_huge, true },
	{ "mremap", do_mremap, true },
	{ "mprotect", do_mprotect, true },
	{ "swap", do_swap, true },
	{ "shared", do_shared, true },
	{ "threads", do_threads, true },
#ifdef __x86_64__
	{ "ldt", do_ldt, true },
#endif
	{ "userfaultfd", do_userfaultfd, true },
};
const size_t memory_kinds_number = sizeof(memory_kinds) / sizeof(*memory_kinds);
