// SPDX-License-Identifier: GPL-2.0
/*
 * Description: checks whether the kernel randomises the stack offset right now.
 *
 * It checks behaviour: a call that always runs at the same place is not randomised,
 * whatever the command line says.
 *
 * Usage: in_force
 */
#include <stdbool.h>
#include <stdio.h>

#include "probe.h"

enum { CALLS = 512 };

int main(void)
{
	static bool seen[PROBE_MAX_POSITION];
	int probe = probe_open(), distinct = 0;

	for (int i = 0; i < CALLS; i++) {
		long position = probe_position(probe);

		distinct += !seen[position];
		seen[position] = true;
	}
	printf("{\"type\":\"in_force\",\"feature\":\"kstack\",\"on\":%s,"
	       "\"evidence\":{\"distinct_positions\":%d,\"calls\":%d}}\n",
	       distinct > 1 ? "true" : "false", distinct, CALLS);
	return 0;
}
