/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A worker times one source of random bytes. It reads lines "SIZE THREADS COUNT" and answers each
 * with the nanoseconds that THREADS threads took for COUNT calls of SIZE bytes each, so that a
 * program that compares workers can run them in turn.
 *
 * A worker's own file includes this and defines the functions that are declared first; since they
 * are static, they are inlined into the timed loop.
 */
#ifndef BENCH_WORKER_H
#define BENCH_WORKER_H

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fail.h"

enum {
	MAX_THREADS = 256,
	MAX_SIZE = 1 << 20,
	/* Draws are checked in pieces of this size, which never repeat by chance. */
	PIECE = 16,
};

/* Called once, with the arguments of main(). Calls cannot() if this machine has no such path. */
static void prepare(int argc, char **argv);

/* Each thread calls this before it draws; index is below MAX_THREADS and unique in the run. */
static void thread_begin(unsigned int index);

/* Fills buf, or calls fail(). */
static inline void draw(void *buf, size_t len);

struct run {
	size_t size;
	uint64_t count;
	unsigned int threads;
	atomic_uint arrived;
};

struct runner {
	struct run *run;
	unsigned int index;
	pthread_t thread;
	int64_t begin;
	int64_t end;
};

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static inline __attribute__((always_inline)) void loop(uint8_t *buf, size_t size, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		draw(buf, size);
		/* Makes the compiler write the bytes of each draw. */
		__asm__ volatile("" : : "r"(buf) : "memory");
	}
}

static __attribute__((noinline)) void draws(uint8_t *buf, size_t size, uint64_t count)
{
	/* As in a program that draws words, the function to call is known at compile time. */
	if (size == sizeof(uint32_t))
		loop(buf, sizeof(uint32_t), count);
	else if (size == sizeof(uint64_t))
		loop(buf, sizeof(uint64_t), count);
	else
		loop(buf, size, count);
}

/* Small draws fill one piece together. */
static size_t filled(size_t size)
{
	return size < PIECE ? PIECE : size;
}

static void fill(uint8_t *buf, size_t size)
{
	for (size_t done = 0; done < filled(size); done += size)
		draw(buf + done, size);
}

/* Whether each piece of a is neither zero nor the same as in b. */
static bool differ(const uint8_t *a, const uint8_t *b, size_t len)
{
	static const uint8_t zero[PIECE];

	for (size_t i = 0; i + PIECE <= len; i += PIECE) {
		if (!memcmp(a + i, zero, PIECE) || !memcmp(a + i, b + i, PIECE))
			return false;
	}
	return true;
}

/* Waits for all threads, so that they draw at the same time. */
static void meet(struct run *run)
{
	atomic_fetch_add(&run->arrived, 1);
	while (atomic_load(&run->arrived) < run->threads)
		sched_yield();
}

static void *runner_main(void *arg)
{
	struct runner *runner = arg;
	struct run *run = runner->run;
	const size_t len = filled(run->size);
	uint8_t *buf = malloc(len);
	uint8_t *before = malloc(len);

	if (!buf || !before)
		fail("no memory");
	thread_begin(runner->index);
	fill(before, run->size);
	/* Warm up the caches, and populate all pages of buf. */
	memset(buf, 0, len);
	draws(buf, run->size, run->count / 16);
	meet(run);
	runner->begin = now();
	draws(buf, run->size, run->count);
	runner->end = now();
	if (run->size < PIECE)
		fill(buf, run->size);
	if (!differ(buf, before, len))
		fail("the bytes are not random");
	free(buf);
	free(before);
	return NULL;
}

/* Returns the nanoseconds from the first thread's start to the last thread's end. */
static int64_t time_run(struct run *run)
{
	struct runner runners[MAX_THREADS];
	int64_t begin = INT64_MAX;
	int64_t end = INT64_MIN;

	for (unsigned int i = 0; i < run->threads; i++) {
		runners[i] = (struct runner){ .run = run, .index = i };
		if (run->threads == 1)
			runner_main(&runners[i]);
		else if (pthread_create(&runners[i].thread, NULL, runner_main, &runners[i]))
			fail("cannot create a thread");
	}
	for (unsigned int i = 0; i < run->threads; i++) {
		if (run->threads > 1)
			pthread_join(runners[i].thread, NULL);
		if (runners[i].begin < begin)
			begin = runners[i].begin;
		if (runners[i].end > end)
			end = runners[i].end;
	}
	return end - begin;
}

int main(int argc, char **argv)
{
	size_t size;
	unsigned int threads;
	uint64_t count;

	setvbuf(stdout, NULL, _IOLBF, 0);
	prepare(argc, argv);
	puts("ready");
	while (scanf("%zu %u %" SCNu64, &size, &threads, &count) == 3) {
		struct run run = { .size = size, .count = count, .threads = threads };

		if (!size || size > MAX_SIZE || !threads || threads > MAX_THREADS || !count)
			fail("a line is not SIZE THREADS COUNT, or out of range");
		printf("%" PRId64 "\n", time_run(&run));
	}
	if (!feof(stdin))
		fail("a line is not SIZE THREADS COUNT, or out of range");
	return EXIT_SUCCESS;
}

#endif
