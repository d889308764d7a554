// SPDX-License-Identifier: Apache-2.0
/*
 * Description: times vmalloc() and vfree(), or vm_map_ram() and vm_unmap_ram(), with
 * the kernel's own lib/test_vmalloc.c: a module that runs one of its tests when it is
 * loaded, logs how long the test took, and fails to load on purpose.
 *
 *   pN       fix_size_alloc_test of N pages
 *   pN-huge  the same by vmalloc_huge(), which maps 512 pages by one entry
 *   random   random_size_alloc_test: 1 to 100 pages
 *   map-ram  vm_map_ram_test of one page
 *
 * A sample is one load with thousands of pairs of calls. The test itself times them, by
 * the same clock as ours and without the loading. The counts by class include the
 * loading.
 *
 * Usage: vmalloc WORD SAMPLES WARMUP
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "sample.h"

#define MODULE "/vmalloc_test.ko"

/* Enough that loading is under a hundredth of the register writes counted by class. */
enum { LOOPS = 10000, LONG_LOOPS = 2500, LONG = 64 };

/* Bits of the module's run_test_mask. */
enum test { FIX_SIZE = 1, RANDOM_SIZE = 8, MAP_RAM = 1024 };

static const struct word {
	const char *name;
	enum test test;
	unsigned int pages;
	bool huge;
} words[] = {
	{ "p1", FIX_SIZE, 1, false },         { "p4", FIX_SIZE, 4, false },
	{ "p16", FIX_SIZE, 16, false },       { "p64", FIX_SIZE, 64, false },
	{ "p256", FIX_SIZE, 256, false },     { "p1-huge", FIX_SIZE, 1, true },
	{ "p4-huge", FIX_SIZE, 4, true },     { "p16-huge", FIX_SIZE, 16, true },
	{ "p64-huge", FIX_SIZE, 64, true },   { "p256-huge", FIX_SIZE, 256, true },
	{ "p512-huge", FIX_SIZE, 512, true }, { "random", RANDOM_SIZE, 1, false },
	{ "map-ram", MAP_RAM, 1, false },
};

static void __attribute__((noreturn)) fail(const char *what)
{
	perror(what);
	exit(1);
}

static unsigned int loops(const struct word *word)
{
	return word->pages < LONG ? LOOPS : LONG_LOOPS;
}

static const struct word *find_word(const char *name)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i].name, name))
			return &words[i];
	return NULL;
}

static int log_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		fail("/dev/kmsg");
	return fd;
}

/* Find @text in what the kernel logged since the last read of @fd; a read gives a line. */
static void log_find(int fd, const char *text, char *line, size_t size)
{
	ssize_t got;

	while ((got = read(fd, line, size - 1)) > 0 || errno == EPIPE) {
		line[got > 0 ? got : 0] = '\0';
		if (strstr(line, text))
			return;
	}
	fprintf(stderr, "the kernel did not log '%s'\n", text);
	exit(1);
}

/* What the kernel logged about the test: that it passed, and what the clock counted. */
static uint64_t read_result(const struct word *word, int log)
{
	char line[1024], passed[64];
	uint64_t count;

	snprintf(passed, sizeof(passed), "passed: 1 failed: 0 repeat: 1 loops: %u ", loops(word));
	log_find(log, "Summary: ", line, sizeof(line));
	if (!strstr(line, passed)) {
		fprintf(stderr, "the test failed: %s", line);
		exit(1);
	}
	log_find(log, "All test took worker0=", line, sizeof(line));
	if (sscanf(strstr(line, "worker0="), "worker0=%" SCNu64 " cycles", &count) != 1)
		fail("cycles");
	return count;
}

static uint64_t run_test(const struct word *word, int module, int log)
{
	char params[256];
	uint64_t begin, outside, inside;
	int error;

	snprintf(params, sizeof(params),
		 "run_test_mask=%d nr_pages=%u use_huge=%d test_loop_count=%u "
		 "test_repeat_count=1 nr_threads=1 sequential_test_order=1",
		 word->test, word->pages, word->huge, loops(word));
	lseek(log, 0, SEEK_END);
	begin = clock_begin();
	error = syscall(SYS_finit_module, module, params, 0) ? errno : 0;
	outside = clock_end() - begin;
	if (error != EAGAIN) {
		errno = error;
		fail(MODULE);
	}
	inside = read_result(word, log);
	if (inside >= outside) {
		fprintf(stderr, "the test's clock is not ours: %" PRIu64 " of %" PRIu64 "\n",
			inside, outside);
		exit(1);
	}
	return inside;
}

static void time_tests(struct samples *s, const struct word *word, uint64_t count)
{
	int module = open(MODULE, O_RDONLY | O_CLOEXEC), log = log_open();

	if (module < 0)
		fail(MODULE);
	for (uint64_t i = 0; i < count; i++)
		samples_put(s, run_test(word, module, log), false);
	close(log);
	close(module);
}

int main(int argc, char **argv)
{
	const struct word *word = argc == 4 ? find_word(argv[1]) : NULL;
	struct samples *warm, *s;
	struct workload w;
	char name[64];
	uint64_t begin;

	if (!word) {
		fprintf(stderr, "usage: %s WORD SAMPLES WARMUP\n", argv[0]);
		return 1;
	}
	snprintf(name, sizeof(name), "vmalloc/%s", word->name);
	w = (struct workload){
		.name = name,
		.count = strtoull(argv[2], NULL, 10),
		.warmup = strtoull(argv[3], NULL, 10),
		.operations = loops(word),
	};
	warm = samples_create();
	samples_begin(warm);
	time_tests(warm, word, w.warmup);
	samples_destroy(warm);

	s = samples_create();
	samples_begin(s);
	marker_begin();
	begin = clock_begin();
	time_tests(s, word, w.count);
	w.elapsed = clock_end() - begin;
	marker_end_drained();
	samples_end(s);
	samples_print(s, &w);
	samples_destroy(s);
	return 0;
}
