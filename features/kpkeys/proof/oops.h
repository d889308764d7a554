/* SPDX-License-Identifier: GPL-2.0 */
/* Whether an oops is the end of the kernel, or only of the task that it happens to. */
#ifndef OOPS_H
#define OOPS_H

#include <fcntl.h>
#include <unistd.h>

#include "task.h"

/* Returns what was set before: a digit. */
static inline char set_panic_on_oops(char wanted)
{
	int file = open("/proc/sys/kernel/panic_on_oops", O_RDWR | O_CLOEXEC);
	char before;

	if (file < 0 || pread(file, &before, 1, 0) != 1 || pwrite(file, &wanted, 1, 0) != 1)
		fail("panic_on_oops");
	close(file);
	return before;
}

#endif
