/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reads from the command line whether the kernel has the vDSO function. */
#ifndef VGR_TESTS_GUEST_EXPECTED_H
#define VGR_TESTS_GUEST_EXPECTED_H

#include <stdbool.h>
#include <string.h>

#include "check.h"

static inline bool vdso_expected(int argc, char **argv)
{
	check(argc == 2, "usage: %s vdso|system-calls", argv[0]);
	if (!strcmp(argv[1], "vdso"))
		return true;
	check(!strcmp(argv[1], "system-calls"), "unknown word: %s", argv[1]);
	return false;
}

#endif
