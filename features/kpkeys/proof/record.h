/* SPDX-License-Identifier: GPL-2.0 */
/* Prints records of write attempts for init to forward. */
#ifndef RECORD_H
#define RECORD_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * @kind: what was written to, as in the params of the proof
 *
 * Flush at once, so that a child does not print it again, and so that it is known what
 * a task did before it was killed.
 */
static inline void print_write(int kind, bool landed)
{
	printf("{\"type\":\"samples\",\"name\":\"writes\",\"values\":[%d,%d]}\n", kind, landed);
	fflush(stdout);
}

/* The only argument of most programs: the number of samples. */
static inline size_t samples_wanted(int argc, char **argv)
{
	return argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
}

#endif
