/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tells how long a CPU's keys serve right after a long sleep.
 *
 * Define _GNU_SOURCE before including this.
 */
#ifndef SLEEPS_H
#define SLEEPS_H

#include "next_key.h"
#include "probe.h"
#include "side_by_side.h"

enum {
	SLEEPS = 4,
	/* So long that a timer armed right after it may be late by many ticks. */
	SLEEP_MS = 990,
	/* Between timers that are due meanwhile and do not end the sleep. */
	APART_MS = 60,
	/* The keys after the one that the CPU wakes with. */
	KEYS_AWAKE = 4,
};

static inline void sleep_through_timers(int probe)
{
	if (ioctl(probe, KSTACK_PROBE_DEFER, APART_MS))
		fail("deferred timers");
	nap(SLEEP_MS * 1000);
}

static inline void time_keys_after_sleeps(int probe, uint64_t symbol, uint64_t per_us)
{
	long us[CPUS * SLEEPS * KEYS_AWAKE], late[CPUS * SLEEPS * KEYS_AWAKE];
	size_t found = 0;

	for (size_t i = 0; i < CPUS * SLEEPS; i++) {
		const struct keyed_cpu c = { probe, symbol, i % CPUS, per_us };
		uint64_t last;

		stay_on_cpu(c.cpu);
		sleep_through_timers(probe);
		last = key_of(&c);
		for (size_t key = 0; key < KEYS_AWAKE; key++) {
			struct next_key next = wait_for_key(&c, last);

			us[found] = next.key ? next.us : -1;
			late[found++] = next.late;
			if (!next.key)
				break;
			last = next.key;
		}
	}
	print_samples("seed_slept_us", us, found);
	print_samples("seed_slept_late", late, found);
}

#endif
