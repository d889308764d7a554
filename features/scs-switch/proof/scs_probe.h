/* SPDX-License-Identifier: GPL-2.0 */
/* What the scs_probe module tells a process. */
#ifndef SCS_PROBE_H
#define SCS_PROBE_H

#include <linux/ioctl.h>
#include <linux/types.h>

struct scs_probe_word {
	__u64 address; /* in: of kernel memory */
	__u32 word;    /* out */
	__u32 unused;
};

#define SCS_PROBE_READ _IOWR('s', 1, struct scs_probe_word)

#endif
