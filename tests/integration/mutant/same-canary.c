// SPDX-License-Identifier: GPL-2.0
/* Canaries that are the same in all processes. */
#include <linux/sched.h>
#include "mutant.h"

static int forget(struct kprobe *probe, struct pt_regs *regs)
{
	((struct task_struct *)regs->di)->stack_canary = 0x4141414141414100;
	return 0;
}

static int break_kernel(void)
{
	return at_each_fork(forget);
}
