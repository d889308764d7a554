// SPDX-License-Identifier: Apache-2.0
/*
 * Description: triggers of LKDTM, the kernel's own attacks on itself. One that the
 * kernel does not stop returns, so it counts as landed; what LKDTM says of that on the
 * console does not count, since it is wrong for some triggers.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "attack.h"

#define TRIGGERS "/sys/kernel/debug/provoke-crash/DIRECT"

bool has_triggers(void)
{
	return !access(TRIGGERS, W_OK);
}

bool attack_lkdtm(const char *name, struct tally *tally)
{
	int file = open(TRIGGERS, O_WRONLY);

	if (file < 0) {
		tally->error = errno;
		return true;
	}
	tally->tries = 1;
	if (write(file, name, strlen(name)) < 0) {
		/* Only a trigger that it does not have. */
		tally->tries = 0;
		tally->error = errno;
	} else {
		tally->landed = 1;
	}
	return true;
}
