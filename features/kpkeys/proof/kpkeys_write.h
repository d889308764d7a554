/* SPDX-License-Identifier: GPL-2.0 */
/* The interface between the module and the program that uses it. */
#ifndef KPKEYS_WRITE_H
#define KPKEYS_WRITE_H

#include <linux/ioctl.h>
#include <linux/types.h>

#include "kpkeys_try.h"

/*
 * @address: in the kernel
 * @value: what to write there
 */
struct kpkeys_write_word {
	__u64 address;
	__u64 value;
};

#define KPKEYS_WRITE_WORD _IOW('W', 0, struct kpkeys_write_word)
/*
 * How the last of these writes ended, after one that killed its process. Fails with EIO
 * if the kernel has oopsed in any other process.
 */
#define KPKEYS_WRITE_END _IOR('W', 1, struct kpkeys_try)

#endif
