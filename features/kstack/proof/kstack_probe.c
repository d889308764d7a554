// SPDX-License-Identifier: GPL-2.0
/*
 * Tells a process where on the kernel stack its system call runs, and what the
 * running kernel's own macros make of an offset.
 *
 * The answer of every ioctl is its return value, so that asking costs a system
 * call and nothing else.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/randomize_kstack.h>
#include <linux/sched/task_stack.h>

#include "kstack_probe.h"

/* Bytes from the top of the stack down to this call's frame. */
static long stack_position(void)
{
	unsigned long top = (unsigned long)task_stack_page(current) + THREAD_SIZE;

	return top - (unsigned long)__builtin_frame_address(0);
}

#ifdef CONFIG_RANDOMIZE_KSTACK_OFFSET
/*
 * How far the kernel's alloca moves the stack for a drawn value: the compiler
 * rounds, so the mask alone does not say how many positions there are.
 */
static noinline long stack_displacement(unsigned long drawn)
{
	u8 *moved = __kstack_alloca(KSTACK_OFFSET_MAX(drawn));

	asm volatile("" : : "r"(moved) : "memory");
	return (u8 *)__builtin_frame_address(0) - moved;
}

static long largest_offset(void)
{
	return KSTACK_OFFSET_MAX(~0U);
}
#else
static long stack_displacement(unsigned long drawn)
{
	return -EOPNOTSUPP;
}

static long largest_offset(void)
{
	return -EOPNOTSUPP;
}
#endif

static long kstack_probe_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case KSTACK_PROBE_POSITION:
		return stack_position();
	case KSTACK_PROBE_DISPLACEMENT:
		return stack_displacement(arg);
	case KSTACK_PROBE_LARGEST_OFFSET:
		return largest_offset();
	default:
		return -ENOTTY;
	}
}

static const struct file_operations kstack_probe_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = kstack_probe_ioctl,
};

static struct miscdevice kstack_probe = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kstack_probe",
	.fops = &kstack_probe_fops,
	.mode = 0600,
};
module_misc_device(kstack_probe);

MODULE_DESCRIPTION("Where on the kernel stack a system call runs");
MODULE_LICENSE("GPL");
