// SPDX-License-Identifier: GPL-2.0
/*
 * Description: collects the stack positions of successive system calls.
 *
 * Usage: attack CALLS
 */
#include "probe.h"
#include "record.h"

int main(int argc, char **argv)
{
	size_t calls = samples_wanted(argc, argv);
	int probe = probe_open();
	long *positions = array(calls);

	for (size_t i = 0; i < calls; i++)
		positions[i] = probe_position(probe);
	print_samples("stack_position", positions, calls);
	free(positions);
	return 0;
}
