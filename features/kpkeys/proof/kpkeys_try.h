/* SPDX-License-Identifier: GPL-2.0 */
/* How a try to write to kernel memory ended. */
#ifndef KPKEYS_TRY_H
#define KPKEYS_TRY_H

#include <linux/types.h>

/* In place of the error code of a page fault */
#define KPKEYS_NO_FAULT (-1)

/*
 * Error codes are x86-64's: whether something is mapped there, it was a write, and a
 * protection key forbids it. For another exception than a fault of the kernel's:
 */
#define KPKEYS_PRESENT 0x01
#define KPKEYS_WRITE   0x02
#define KPKEYS_BY_KEY  0x20
#define KPKEYS_OTHER   0x40000000

/*
 * @landed: 1 if the memory has changed, or else 0
 * @code: the error code of the page fault, or KPKEYS_NO_FAULT
 * @astray: how far the address of the fault is from the one written to
 */
struct kpkeys_try {
	__s64 landed;
	__s64 code;
	__s64 astray;
};

#endif
