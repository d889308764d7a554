/* SPDX-License-Identifier: GPL-2.0 */
/* What the module and the programs that ask it agree on. */
#ifndef KSTACK_PROBE_H
#define KSTACK_PROBE_H

#include <linux/ioctl.h>

#define KSTACK_PROBE_POSITION       _IO('K', 0)
#define KSTACK_PROBE_DISPLACEMENT   _IO('K', 1)
#define KSTACK_PROBE_LARGEST_OFFSET _IO('K', 2)

#endif
