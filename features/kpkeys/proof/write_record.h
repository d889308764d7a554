/* SPDX-License-Identifier: GPL-2.0 */
/* Prints records of write attempts for init to forward. */
#ifndef WRITE_RECORD_H
#define WRITE_RECORD_H

#include <stdbool.h>
#include <stdio.h>

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

/* The kernel offers no occasion to try; the proofs of other kinds still count. */
static inline void print_inapplicable(int kind)
{
	printf("{\"type\":\"samples\",\"name\":\"inapplicable\",\"values\":[%d]}\n", kind);
	fflush(stdout);
}

#endif
