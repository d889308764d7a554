// SPDX-License-Identifier: GPL-2.0
/*
 * Description: collects stack positions and, right before and right after each call,
 * the low 32 bits of the counter that user space can read.
 *
 * Usage: clock CALLS
 */
#define _GNU_SOURCE
#include "counter.h"
#include "probe.h"
#include "record.h"
#include "side_by_side.h"

int main(int argc, char **argv)
{
	size_t calls = samples_wanted(argc, argv);
	long *before = array(calls), *positions = array(calls), *after = array(calls);
	int probe = probe_open();

	stay_on_cpu(0);
	for (size_t i = 0; i < calls; i++) {
		before[i] = (uint32_t)counter();
		positions[i] = probe_position(probe);
		after[i] = (uint32_t)counter();
	}
	print_samples("clock_before", before, calls);
	print_samples("clock_position", positions, calls);
	print_samples("clock_after", after, calls);
	free(before);
	free(positions);
	free(after);
	return 0;
}
