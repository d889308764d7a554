// SPDX-License-Identifier: Apache-2.0
/*
 * Description: reads the key of CPU 0 over and over while its virtual machine is copied.
 *
 * Waits for steady ticks, and for a byte on the third serial port, before it does. Prints
 * all keys, and the first reading after the kernel said that its machine is a copy; -1: it
 * never did.
 *
 * Usage: copied_keys READINGS
 */
#define _GNU_SOURCE
#include <sched.h>

#include "clone.h"
#include "generator.h"
#include "pace.h"
#include "probe.h"
#include "record.h"

enum { WAIT_US = 900000 };

/*
 * A kernel whose ticks are periodic makes them one-shot when it has calibrated the
 * time-stamp counter, a second after boot. It then leaves out several, and keys with them.
 */
static void wait_for_steady_ticks(void)
{
	struct timespec resolution;

	do {
		nap(WAIT_US);
		if (clock_getres(CLOCK_MONOTONIC, &resolution))
			fail("clock_getres");
	} while (resolution.tv_nsec > 1);
	nap(WAIT_US);
}

int main(int argc, char **argv)
{
	size_t readings = samples_wanted(argc, argv);
	int probe = probe_open(), kernel_log = open_kernel_log();
	uint64_t symbol = generator_symbol();
	long *keys = array(readings), told = -1;

	wait_for_steady_ticks();
	wait_for_byte();
	for (size_t i = 0; i < readings; i++) {
		/* The kernel's worker gets its turn. */
		sched_yield();
		if (told < 0 && clone_seen(kernel_log))
			told = (long)i;
		keys[i] = (long)read_generator(probe, symbol, 0).cpu_state[0];
	}
	print_samples("told", &told, 1);
	print_samples("key", keys, readings);
	free(keys);
	return 0;
}
