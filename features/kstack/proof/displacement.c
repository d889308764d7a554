// SPDX-License-Identifier: GPL-2.0
/*
 * Description: prints how far the kernel's own definition of the offset moves the stack
 * for each value that can be drawn. The judge compares positions with this.
 *
 * Usage: displacement
 */
#include "probe.h"
#include "record.h"

int main(void)
{
	int probe = probe_open();
	long largest = ioctl(probe, KSTACK_PROBE_LARGEST_OFFSET);
	long *displacements, values = 1;

	if (largest < 0) {
		perror("a kernel without RANDOMIZE_KSTACK_OFFSET");
		exit(UNSUPPORTED);
	}
	/* Include the low bits that the mask drops: all values are equally likely. */
	while (values <= largest)
		values *= 2;
	displacements = array((size_t)values);
	for (long drawn = 0; drawn < values; drawn++)
		displacements[drawn] = ioctl(probe, KSTACK_PROBE_DISPLACEMENT, drawn);
	print_definition("displacement", displacements, (size_t)values);
	free(displacements);
	return 0;
}
