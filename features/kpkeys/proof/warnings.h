/* SPDX-License-Identifier: GPL-2.0 */
#ifndef WARNINGS_H
#define WARNINGS_H

#include <stdio.h>

#include "task.h"

/* How often the kernel has warned since it started. */
static inline long warnings(void)
{
	static const char path[] = "/sys/kernel/warn_count";
	FILE *file = fopen(path, "r");
	long count;

	if (!file || fscanf(file, "%ld", &count) != 1 || fclose(file))
		fail(path);
	return count;
}

#endif
