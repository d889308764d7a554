// SPDX-License-Identifier: GPL-2.0
/*
 * Description: collects the stack positions of successive system calls, and what
 * the kernel's own definition of the offset allows them to be.
 *
 * Usage: attack CALLS
 */
#include "probe.h"
#include "record.h"

/* Where each value that can be drawn moves the stack to. */
static void print_displacements(int probe)
{
	long largest = ioctl(probe, KSTACK_PROBE_LARGEST_OFFSET);
	long *displacements, values = 1;

	if (largest < 0) {
		perror("a kernel without RANDOMIZE_KSTACK_OFFSET");
		exit(77);
	}
	/* Low bits that the mask drops count too: all values are as likely. */
	while (values <= largest)
		values *= 2;
	displacements = array((size_t)values);
	for (long drawn = 0; drawn < values; drawn++)
		displacements[drawn] = ioctl(probe, KSTACK_PROBE_DISPLACEMENT, drawn);
	print_definition("displacement", displacements, (size_t)values);
	free(displacements);
}

int main(int argc, char **argv)
{
	size_t calls = samples_wanted(argc, argv);
	int probe = probe_open();
	long *positions = array(calls);

	for (size_t i = 0; i < calls; i++)
		positions[i] = probe_position(probe);
	print_displacements(probe);
	print_samples("stack_position", positions, calls);
	free(positions);
	return 0;
}
