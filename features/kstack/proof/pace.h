/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How fast the counter runs, and ticks; and how to wait.
 *
 * Define _GNU_SOURCE before including this.
 */
#ifndef PACE_H
#define PACE_H

#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "counter.h"
#include "task.h"

static inline uint64_t nanoseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* What ticks drive. */
static inline uint64_t nanoseconds_by_ticks(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t tick_ns(void)
{
	struct timespec tick;

	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	return (uint64_t)tick.tv_nsec;
}

/* Less than a second. Raw, so that it is one system call. */
static inline void nap(uint64_t us)
{
	struct timespec time = { .tv_nsec = (long)us * 1000 };

	if (syscall(SYS_nanosleep, &time, NULL))
		fail("nanosleep");
}

static inline uint64_t counts_per_us(void)
{
	enum { CALIBRATION_NS = 50000000 };
	uint64_t counts = counter(), begin = nanoseconds(), taken;

	do
		taken = nanoseconds() - begin;
	while (taken < CALIBRATION_NS);
	return (counter() - counts) * 1000u / taken;
}

#endif
