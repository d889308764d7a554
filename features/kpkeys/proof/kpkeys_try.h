/* SPDX-License-Identifier: GPL-2.0 */
/* How a try to write to kernel memory ended. */
#ifndef KPKEYS_TRY_H
#define KPKEYS_TRY_H

#include <linux/types.h>

/* In place of the error code of a page fault */
#define KPKEYS_NO_FAULT (-1)

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
