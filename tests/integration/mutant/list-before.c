// SPDX-License-Identifier: GPL-2.0
/* Lists whose check looks at what follows an entry, and not at what goes before. */
#include <linux/list.h>
#include "mutant.h"

static int say_valid(struct pt_regs *regs)
{
	regs->ip = *(unsigned long *)regs->sp;
	regs->sp += sizeof(long);
	regs->ax = true;
	return 1;
}

static int before_add(struct kprobe *probe, struct pt_regs *regs)
{
	struct list_head *prev = (void *)regs->si, *next = (void *)regs->dx;

	return next->prev == prev ? say_valid(regs) : 0;
}

static int before_delete(struct kprobe *probe, struct pt_regs *regs)
{
	struct list_head *entry = (void *)regs->di;

	return entry->next->prev == entry ? say_valid(regs) : 0;
}

/* Without one, the probe may become a jump, which cannot go elsewhere. */
static void after(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe add = {
	.symbol_name = "__list_add_valid_or_report",
	.pre_handler = before_add,
	.post_handler = after,
};

static struct kprobe delete = {
	.symbol_name = "__list_del_entry_valid_or_report",
	.pre_handler = before_delete,
	.post_handler = after,
};

static int break_kernel(void)
{
	return register_kprobe(&add) ?: register_kprobe(&delete);
}
