/* SPDX-License-Identifier: GPL-2.0 */
/* Prints records of write attempts for init to forward. */
#ifndef WRITE_RECORD_H
#define WRITE_RECORD_H

#include <stdio.h>

#include "kpkeys_try.h"

/*
 * @kind: what was written to, as in the params of the proof
 *
 * Flush at once, so that a child does not print it again, and so that it is known what
 * a task did before it was killed.
 */
static inline void print_write(int kind, struct kpkeys_try end)
{
	printf("{\"type\":\"samples\",\"name\":\"tries\",\"values\":[%d,%lld,%lld,%lld]}\n", kind,
	       end.landed, end.code, end.astray);
	fflush(stdout);
}

/* The kernel offers no occasion to try; the proofs of other kinds still count. */
static inline void print_inapplicable(int kind)
{
	printf("{\"type\":\"samples\",\"name\":\"inapplicable\",\"values\":[%d]}\n", kind);
	fflush(stdout);
}

#endif
