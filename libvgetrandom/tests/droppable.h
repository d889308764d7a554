/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The mappings that hold the library's states, as the kernel lists them. */
#ifndef VGR_TESTS_DROPPABLE_H
#define VGR_TESTS_DROPPABLE_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

struct mapping {
	char *start;
	size_t size;
	/* As in /proc/self/smaps: each is two letters and a space. */
	char flags[256];
};

/* Returns the number of droppable mappings, and writes at most max of them to found. */
static inline size_t droppable_mappings(struct mapping *found, size_t max)
{
	FILE *smaps = fopen("/proc/self/smaps", "re");
	struct mapping mapping = { 0 };
	size_t count = 0;
	char line[512];

	check(smaps, "/proc/self/smaps");
	while (fgets(line, sizeof(line), smaps)) {
		unsigned long start, end;

		if (sscanf(line, "%lx-%lx ", &start, &end) == 2) {
			/* NOLINTNEXTLINE(performance-no-int-to-ptr): an integer by nature. */
			mapping.start = (char *)start;
			mapping.size = end - start;
		}
		if (strncmp(line, "VmFlags:", 8) != 0 || !strstr(line, " dp "))
			continue;
		memcpy(mapping.flags, line + 8, sizeof(mapping.flags) - 1);
		if (count < max)
			found[count] = mapping;
		count++;
	}
	fclose(smaps);
	return count;
}

#endif
