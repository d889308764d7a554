// SPDX-License-Identifier: Apache-2.0
/*
 * Description: times operations that change many page table entries at once, on a
 * mapping of known shape: fork() and munmap() of it, mprotect() and mremap() there and
 * back, the faults that fill it, and its whole life.
 *
 * The shapes are those of the published micromm figures, which map 1 GB; this program
 * maps 16 MB, eight full tables, which an emulated CPU can refill for every sample:
 *
 *   p1     single pages (folios of order 0)
 *   p512   huge pages (folios of PMD order), mapped page by page
 *   pmd    huge pages, each mapped by one entry
 *   few    64 single pages in one page table
 *   table  512 of them: the same table, full
 *
 * A sample holds one call, or several if a call is short.
 *
 * Usage: micromm WORD SAMPLES WARMUP
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/arch.h"
#include "one_cpu.h"
#include "sample.h"
#include "timing.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define HUGE_PAGES "/sys/kernel/mm/transparent_hugepage/enabled"

enum {
	EXIT_UNSUPPORTED = 77,
	PAGE = 4096,
	TABLE_PAGES = 512,
	HUGE_PAGE = TABLE_PAGES * PAGE,
	FEW = 64,
	MANY = 8 * TABLE_PAGES,
	KPF_THP = 22,
};

/*
 * Far from the program's other mappings, so that the region shares only the topmost
 * tables with them, wherever the kernel put those. The other region begins within a
 * huge page: a move between the two must move entries, not tables.
 */
#define REGION       ((char *)0x200000000)
#define OTHER_REGION ((char *)0x280000000 + PAGE)

enum folios { SMALL, SPLIT, HUGE };

struct word {
	const char *name;
	time_rounds *time;
	size_t pages;
	enum folios folios;
	unsigned int rounds;     /* in a sample */
	unsigned int operations; /* in a round */
};

static void __attribute__((noreturn)) fail(const char *what)
{
	perror(what);
	exit(1);
}

static size_t region_size(const struct word *word)
{
	return word->pages * PAGE;
}

static void region_map(const struct word *word)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE;
	int advice = word->folios == SMALL ? MADV_NOHUGEPAGE : MADV_HUGEPAGE;

	if (mmap(REGION, region_size(word), PROT_READ | PROT_WRITE, flags, -1, 0) != REGION)
		fail("mmap");
	/* A kernel without huge pages rejects advice about them, but uses small ones anyway. */
	if (madvise(REGION, region_size(word), advice) &&
	    (errno != EINVAL || advice == MADV_HUGEPAGE))
		fail("madvise");
}

/* If protection differs within a huge page, it needs a table; the folio stays whole. */
static void region_split(const struct word *word)
{
	for (char *at = REGION; at < REGION + region_size(word); at += HUGE_PAGE)
		if (mprotect(at, PAGE, PROT_READ) || mprotect(at, PAGE, PROT_READ | PROT_WRITE))
			fail("mprotect");
	/* Or khugepaged collapses the entries again. */
	if (madvise(REGION, region_size(word), MADV_NOHUGEPAGE))
		fail("madvise");
}

static void region_fill(const struct word *word)
{
	if (madvise(REGION, region_size(word), MADV_POPULATE_WRITE))
		fail("populate");
	if (word->folios == SPLIT)
		region_split(word);
}

static void region_unmap(const struct word *word)
{
	if (munmap(REGION, region_size(word)))
		fail("munmap");
}

/*
 * The system call of fork() without the C library's work around it, which would copy
 * pages of the library's data. The child ends at once; the parent waits for it outside
 * of the sample, since that is not part of its call.
 */
static void time_fork(struct timing *t)
{
	int status;
	long child;

	timing_begin(t);
	child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0)
		_exit(0);
	timing_end(t);
	if (child < 0 || waitpid((pid_t)child, &status, 0) != child || status)
		fail("fork");
}

static void time_forks(const struct word *word, struct timing *t, uint64_t rounds)
{
	region_map(word);
	region_fill(word);
	for (uint64_t i = 0; i < rounds; i++)
		time_fork(t);
	region_unmap(word);
}

/* A fork write-protects pages; the next one need not, unless they were written again. */
static void time_forks_of_written(const struct word *word, struct timing *t, uint64_t rounds)
{
	region_map(word);
	for (uint64_t i = 0; i < rounds; i++) {
		region_fill(word);
		time_fork(t);
	}
	region_unmap(word);
}

static void time_munmaps(const struct word *word, struct timing *t, uint64_t rounds)
{
	for (uint64_t i = 0; i < rounds; i++) {
		region_map(word);
		region_fill(word);
		timing_begin(t);
		region_unmap(word);
		timing_end(t);
	}
}

/*
 * With ticks, since a kernel may free page tables in a later one. What a sample leaves to
 * be freed after it, the samples before it, or the warm-up, have left to it.
 */
static void time_lives(const struct word *word, struct timing *t, uint64_t rounds)
{
	t->with_ticks = true;
	for (uint64_t i = 0; i < rounds; i++) {
		timing_begin(t);
		region_map(word);
		region_fill(word);
		region_unmap(word);
		timing_end(t);
	}
}

/* A sample fills a table; its first fault creates the table. */
static void time_faults(const struct word *word, struct timing *t, uint64_t rounds)
{
	for (uint64_t i = 0; i < rounds; i++) {
		size_t page = i % word->pages;

		if (page == 0)
			region_map(word);
		timing_begin(t);
		*(volatile char *)(REGION + page * PAGE) = 1;
		timing_end(t);
		if (page == word->pages - 1 || i == rounds - 1)
			region_unmap(word);
	}
}

static void time_mprotects(const struct word *word, struct timing *t, uint64_t rounds)
{
	size_t size = region_size(word);

	region_map(word);
	region_fill(word);
	for (uint64_t i = 0; i < rounds; i++) {
		int failed;

		timing_begin(t);
		failed = mprotect(REGION, size, PROT_READ);
		failed |= mprotect(REGION, size, PROT_READ | PROT_WRITE);
		timing_end(t);
		if (failed)
			fail("mprotect");
	}
	region_unmap(word);
}

static void *region_move(const struct word *word, char *from, char *to)
{
	size_t size = region_size(word);

	return mremap(from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to);
}

static void time_mremaps(const struct word *word, struct timing *t, uint64_t rounds)
{
	region_map(word);
	region_fill(word);
	for (uint64_t i = 0; i < rounds; i++) {
		void *there, *back;

		timing_begin(t);
		there = region_move(word, REGION, OTHER_REGION);
		back = region_move(word, OTHER_REGION, REGION);
		timing_end(t);
		if (there != OTHER_REGION || back != REGION)
			fail("mremap");
	}
	region_unmap(word);
}

static const struct word words[] = {
	{ "fork-few", time_forks, FEW, SMALL, 8, 1 },
	{ "fork-table", time_forks, TABLE_PAGES, SMALL, 4, 1 },
	{ "fork-p1", time_forks, MANY, SMALL, 1, 1 },
	{ "fork-written", time_forks_of_written, MANY, SMALL, 1, 1 },
	{ "fork-p512", time_forks, MANY, SPLIT, 1, 1 },
	{ "fork-pmd", time_forks, MANY, HUGE, 4, 1 },
	{ "munmap-few", time_munmaps, FEW, SMALL, 8, 1 },
	{ "munmap-table", time_munmaps, TABLE_PAGES, SMALL, 4, 1 },
	{ "munmap-p1", time_munmaps, MANY, SMALL, 1, 1 },
	{ "munmap-p512", time_munmaps, MANY, SPLIT, 1, 1 },
	{ "munmap-pmd", time_munmaps, MANY, HUGE, 1, 1 },
	{ "life-few", time_lives, FEW, SMALL, 64, 1 },
	{ "life-p1", time_lives, MANY, SMALL, 1, 1 },
	{ "life-pmd", time_lives, MANY, HUGE, 2, 1 },
	{ "fault", time_faults, TABLE_PAGES, SMALL, TABLE_PAGES, 1 },
	{ "mprotect", time_mprotects, MANY, SMALL, 1, 2 },
	{ "mremap", time_mremaps, MANY, SMALL, 1, 2 },
};

static const struct word *find_word(const char *name)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i].name, name))
			return &words[i];
	return NULL;
}

/* The kilobytes of @field in a file of /proc, after a line that begins with @after. */
static uint64_t read_kilobytes(const char *path, const char *after, const char *field)
{
	FILE *file = fopen(path, "r");
	bool found = *after == '\0';
	uint64_t kilobytes;
	char line[512];

	if (!file)
		fail(path);
	while (fgets(line, sizeof(line), file)) {
		found |= !strncmp(line, after, strlen(after));
		if (!found || strncmp(line, field, strlen(field)))
			continue;
		fclose(file);
		if (sscanf(line + strlen(field), " %" SCNu64 " kB", &kilobytes) != 1)
			fail(field);
		return kilobytes;
	}
	fprintf(stderr, "%s has no %s after '%s'\n", path, field, after);
	exit(1);
}

static uint64_t mapped_kilobytes(const char *at, const char *field)
{
	char after[32];

	snprintf(after, sizeof(after), "%" PRIxPTR "-", (uintptr_t)at);
	return read_kilobytes("/proc/self/smaps", after, field);
}

static uint64_t read_word(const char *path, uint64_t index)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t word;

	if (fd < 0 || pread(fd, &word, sizeof(word), (off_t)(index * sizeof(word))) != sizeof(word))
		fail(path);
	close(fd);
	return word;
}

static bool is_huge_folio(const char *at)
{
	uint64_t frame = read_word("/proc/self/pagemap", (uintptr_t)at / PAGE) & ((1ULL << 55) - 1);

	return read_word("/proc/kpageflags", frame) >> KPF_THP & 1;
}

static void expect(const char *what, uint64_t found, uint64_t expected)
{
	if (found == expected)
		return;
	fprintf(stderr, "%s: %" PRIu64 ", not %" PRIu64 "\n", what, found, expected);
	exit(1);
}

static void check_shape(const struct word *word, const char *at)
{
	uint64_t size = region_size(word) / 1024;

	expect("kB mapped", mapped_kilobytes(at, "Rss:"), size);
	expect("kB mapped by huge entries", mapped_kilobytes(at, "AnonHugePages:"),
	       word->folios == HUGE ? size : 0);
	expect("a page of a huge folio", is_huge_folio(at + PAGE), word->folios != SMALL);
}

static uint64_t page_table_kilobytes(void)
{
	return read_kilobytes("/proc/self/status", "", "VmPTE:");
}

/*
 * Check by the kernel's own counts that the region has the right number of pages,
 * mapped as its shape says, by the right number of tables (a huge entry keeps one in
 * reserve) below one table of the next level, and that no table is left afterwards.
 */
static void check_region(const struct word *word)
{
	uint64_t tables = (word->pages + TABLE_PAGES - 1) / TABLE_PAGES + 1;
	uint64_t before = page_table_kilobytes();
	int status;
	pid_t child;

	region_map(word);
	region_fill(word);
	check_shape(word, REGION);
	expect("kB of page tables", page_table_kilobytes() - before, tables * PAGE / 1024);
	child = fork();
	if (child == 0) {
		check_shape(word, REGION);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		fail("child");
	if (region_move(word, REGION, OTHER_REGION) != OTHER_REGION)
		fail("mremap");
	expect("kB moved", mapped_kilobytes(OTHER_REGION, "Rss:"), region_size(word) / 1024);
	if (region_move(word, OTHER_REGION, REGION) != REGION)
		fail("mremap");
	region_unmap(word);
	expect("kB of page tables left", page_table_kilobytes(), before);
}

static bool huge_pages_mode(char *mode, size_t size)
{
	int fd = open(HUGE_PAGES, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return false;
	got = read(fd, mode, size - 1);
	close(fd);
	mode[got > 0 ? got : 0] = '\0';
	return got > 0;
}

static bool set_huge_pages(const char *mode)
{
	int fd = open(HUGE_PAGES, O_WRONLY | O_CLOEXEC);
	ssize_t done;

	if (fd < 0)
		return false;
	done = write(fd, mode, strlen(mode));
	close(fd);
	return done > 0;
}

static void disable_huge_pages(void)
{
	set_huge_pages("never");
}

/* The kernel turns them off in a machine as small as a guest: turn them on for this run. */
static bool need_huge_pages(void)
{
	char mode[64];

	if (!huge_pages_mode(mode, sizeof(mode)))
		return false;
	if (!strstr(mode, "[never]"))
		return true;
	return set_huge_pages("madvise") && !atexit(disable_huge_pages);
}

/* The places of stack and heap decide how many pages and tables a fork() copies. */
static void fix_addresses(char **argv)
{
	int mode = personality(0xffffffff);

	if (mode < 0)
		fail("personality");
	if (mode & ADDR_NO_RANDOMIZE)
		return;
	if (personality((unsigned long)mode | ADDR_NO_RANDOMIZE) < 0)
		fail("personality");
	execv("/proc/self/exe", argv);
	fail("exec");
}

int main(int argc, char **argv)
{
	const struct word *word = argc == 4 ? find_word(argv[1]) : NULL;
	struct timing warm, timing;
	struct workload w;
	char name[64];

	if (!word) {
		fprintf(stderr, "usage: %s WORD SAMPLES WARMUP\n", argv[0]);
		return 1;
	}
	fix_addresses(argv);
	if (word->folios != SMALL && !need_huge_pages()) {
		fprintf(stderr, "%s: the kernel has no huge pages\n", word->name);
		return EXIT_UNSUPPORTED;
	}
	snprintf(name, sizeof(name), "micromm/%s", word->name);
	w = (struct workload){
		.name = name,
		.count = strtoull(argv[2], NULL, 10),
		.operations = word->rounds * word->operations,
		.overhead = clock_overhead() * word->rounds,
	};
	warm = timing_create(word->rounds, false);
	timing = timing_create(word->rounds, true);
	/* Or a child sometimes ends within the sample that made it. */
	share_a_cpu();
	check_region(word);
	timing.leaves_work = true;
	w.warmup = warm_up(word->time, word, &warm, strtoull(argv[3], NULL, 10));
	timing_run(word->time, word, &timing, &w);
	samples_print(timing.samples, &w);
	timing_destroy(&warm);
	timing_destroy(&timing);
	return 0;
}
