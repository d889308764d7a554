/* SPDX-License-Identifier: GPL-2.0 */
/* How fast the counter runs. */
#ifndef PACE_H
#define PACE_H

#include <stdint.h>
#include <time.h>

#include "counter.h"

static inline uint64_t nanoseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
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
