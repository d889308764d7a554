// SPDX-License-Identifier: GPL-2.0
/*
 * Description: collects the stack positions of successive system calls, and what
 * the kernel's own definition of the offset allows them to be.
 *
 * Usage: attack CALLS
 */
#include "probe.h"

enum { VALUES_PER_RECORD = 1000 };

static void print_values(const char *type, const char *name, const long *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (i % VALUES_PER_RECORD == 0)
			printf("%s{\"type\":\"%s\",\"name\":\"%s\",\"values\":[", i ? "]}\n" : "",
			       type, name);
		printf("%s%ld", i % VALUES_PER_RECORD ? "," : "", values[i]);
	}
	puts("]}");
}

static long *array(size_t count)
{
	long *values = calloc(count, sizeof(*values));

	if (!values || !count) {
		fprintf(stderr, "no memory for %zu calls\n", count);
		exit(1);
	}
	return values;
}

/* Where each value that can be drawn moves the stack to. */
static void print_definition(int probe)
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
	print_values("definition", "displacement", displacements, (size_t)values);
	free(displacements);
}

int main(int argc, char **argv)
{
	size_t calls = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	int probe = probe_open();
	long *positions = array(calls);

	for (size_t i = 0; i < calls; i++)
		positions[i] = probe_position(probe);
	print_definition(probe);
	print_values("samples", "stack_position", positions, calls);
	free(positions);
	return 0;
}
