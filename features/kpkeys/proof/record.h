/* SPDX-License-Identifier: GPL-2.0 */
/* Records of tries to write, as init forwards them. */
#ifndef RECORD_H
#define RECORD_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * @kind: what was written to, as the params of the proof say it
 *
 * At once, so that a child has nothing to print again and what a task did before it
 * was killed is known.
 */
static inline void print_write(int kind, bool landed)
{
	printf("{\"type\":\"samples\",\"name\":\"writes\",\"values\":[%d,%d]}\n", kind, landed);
	fflush(stdout);
}

/* The only argument of most programs: how many samples. */
static inline size_t samples_wanted(int argc, char **argv)
{
	return argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
}

#endif
