/* SPDX-License-Identifier: GPL-2.0 */
/* The interface between the module and the program that uses it. */
#ifndef KPKEYS_COUNT_H
#define KPKEYS_COUNT_H

#include <linux/ioctl.h>

#include "kpkeys_try.h"

/*
 * Map one page of /dev/kpkeys_count, then aim the counts of that page at a page table.
 * The kernel counts it when the process forks. Fails with EDOM where what lies before
 * the target would not pass for a page of a file.
 */
#define KPKEYS_COUNT_AIM _IO('C', 0)
/* 1 if the kernel has killed the process that aimed. */
#define KPKEYS_COUNT_KILLED _IO('C', 1)
/* Undo it all, before the child goes on, and tell how the kernel's count ended. */
#define KPKEYS_COUNT_RESTORE _IOR('C', 2, struct kpkeys_try)

#endif
