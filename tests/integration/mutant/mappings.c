// SPDX-License-Identifier: GPL-2.0
/* Programs whose stack is elsewhere each time, and nothing else. */
#include <linux/sched.h>
#include "mutant.h"

static int before(struct kretprobe_instance *call, struct pt_regs *regs)
{
	*(struct mm_struct **)call->data = (void *)regs->di;
	return 0;
}

static int after(struct kretprobe_instance *call, struct pt_regs *regs)
{
	(*(struct mm_struct **)call->data)->mmap_base = 0x7ffff0000000;
	return 0;
}

static struct kretprobe layout = {
	.kp.symbol_name = "arch_pick_mmap_layout",
	.entry_handler = before,
	.handler = after,
	.data_size = sizeof(struct mm_struct *),
};

static int break_kernel(void)
{
	return register_kretprobe(&layout);
}
