/* SPDX-License-Identifier: GPL-2.0 */
/* Access to the kstack_probe module. */
#ifndef PROBE_H
#define PROBE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "kstack_probe.h"

/* No kernel stack is larger: 32 KiB with KASAN, 64 KiB with 64 KiB pages on arm64. */
enum { PROBE_MAX_POSITION = 1 << 17 };

static inline int probe_open(void)
{
	int probe = open("/dev/kstack_probe", O_RDWR | O_CLOEXEC);

	if (probe < 0) {
		perror("/dev/kstack_probe");
		exit(77);
	}
	return probe;
}

static inline long probe_checked(long position)
{
	if (position < 0 || position >= PROBE_MAX_POSITION) {
		perror("stack position");
		exit(1);
	}
	return position;
}

static inline long probe_position(int probe)
{
	return probe_checked(ioctl(probe, KSTACK_PROBE_POSITION));
}

#endif
