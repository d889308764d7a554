/* SPDX-License-Identifier: GPL-2.0 */
/* The interface between the module and the program that uses it. */
#ifndef KPKEYS_WRITE_H
#define KPKEYS_WRITE_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * @address: in the kernel
 * @value: what to write there
 */
struct kpkeys_write_word {
	__u64 address;
	__u64 value;
};

#define KPKEYS_WRITE_WORD _IOW('W', 0, struct kpkeys_write_word)

#endif
