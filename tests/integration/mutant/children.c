// SPDX-License-Identifier: GPL-2.0
/* Filters of system calls that a process loses when it forks. */
#include <linux/sched.h>
#include "mutant.h"

static int forget(struct kprobe *probe, struct pt_regs *regs)
{
	struct task_struct *child = (void *)regs->di;

	child->seccomp.mode = 0;
	clear_task_syscall_work(child, SECCOMP);
	return 0;
}

static int break_kernel(void)
{
	return at_each_fork(forget);
}
