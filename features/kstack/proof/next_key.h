/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Waits for a CPU's next key, and tells how long the one before it served.
 *
 * Define _GNU_SOURCE before including this.
 */
#ifndef NEXT_KEY_H
#define NEXT_KEY_H

#include <stdbool.h>

#include "counter.h"
#include "generator.h"
#include "pace.h"

enum {
	/* For a key. Ticks that came, since a host may hold back many for seconds. */
	PATIENCE_TICKS = 100,
	/* A tick that is so late may double the life of a key. */
	LATE_NS = 5000000,
};

/* The generator of a CPU, on which this runs. */
struct keyed_cpu {
	int probe;
	uint64_t symbol;
	size_t cpu;
	/* Counts in a microsecond. */
	uint64_t per_us;
};

/*
 * @key: 0: ticks came, but no key
 * @us: how long the one before it served from when the wait began, but no more ticks than
 *      were seen to come
 * @late: whether the host held one back
 */
struct next_key {
	uint64_t key;
	long us;
	bool late;
};

static inline uint64_t key_of(const struct keyed_cpu *c)
{
	return read_generator(c->probe, c->symbol, c->cpu).cpu_state[0];
}

/* A tick that the host makes late is not the kernel's doing. */
static inline long served(uint64_t us, uint64_t ticks_us)
{
	return (long)(us < ticks_us ? us : ticks_us);
}

static inline struct next_key wait_for_key(const struct keyed_cpu *c, uint64_t last)
{
	uint64_t begin = counter(), ticked = nanoseconds_by_ticks(), tick = tick_ns();
	bool late = false;

	for (size_t ticks = 0; ticks < PATIENCE_TICKS;) {
		/* First, so that the tick that draws a key counts as one of the last key's. */
		uint64_t key = key_of(c), now = nanoseconds_by_ticks(), us;

		ticks += now != ticked;
		late |= now - ticked > tick + LATE_NS;
		ticked = now;
		if (key == last)
			continue;
		us = (counter() - begin) / c->per_us;
		return (struct next_key){ key, served(us, ticks * tick / 1000), late };
	}
	return (struct next_key){ 0 };
}

#endif
