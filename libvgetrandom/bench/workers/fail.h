/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How a worker ends when it cannot go on. */
#ifndef BENCH_FAIL_H
#define BENCH_FAIL_H

#include <stdio.h>
#include <stdlib.h>

enum {
	EXIT_CANNOT = 77,
};

/* This machine has no such way to random bytes; the bench leaves it out. */
static inline _Noreturn void cannot(const char *why)
{
	printf("cannot %s\n", why);
	exit(EXIT_CANNOT);
}

static inline _Noreturn void fail(const char *why)
{
	fprintf(stderr, "%s\n", why);
	exit(EXIT_FAILURE);
}

#endif
