// SPDX-License-Identifier: GPL-2.0
/*
 * A bug such as many drivers have had: it lets any user write any value anywhere in the
 * kernel. Never load it where that matters.
 */
#include <linux/fs.h>
#include <linux/kdebug.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "fault.h"
#include "kpkeys_write.h"

/* The last write: by whom, where to, and how it ended. Only one process uses the bug. */
static struct {
	struct task_struct *writer;
	u64 address;
	struct kpkeys_try end;
} last;

/*
 * Has anybody else oopsed since the device was opened? The proof excuses an oops of the
 * writer only.
 */
static bool stranger_oopsed;

static int on_oops(struct notifier_block *block, unsigned long event, void *data)
{
	const struct die_args *args = data;

	if (event != DIE_OOPS)
		return NOTIFY_DONE;
	if (current != last.writer) {
		WRITE_ONCE(stranger_oopsed, true);
		return NOTIFY_DONE;
	}
	last.end.code = fault_code(args->err);
	last.end.astray = fault_address() - last.address;
	return NOTIFY_DONE;
}

static struct notifier_block oops_notifier = { .notifier_call = on_oops };

static long write_word(const struct kpkeys_write_word __user *user)
{
	struct kpkeys_write_word word;

	if (copy_from_user(&word, user, sizeof(word)))
		return -EFAULT;
	last.address = word.address;
	last.end = (struct kpkeys_try){ .code = KPKEYS_NO_FAULT };
	WRITE_ONCE(last.writer, current);
	/* It must be this write's own, if it is the right one. */
	set_fault_address(~word.address);
	WRITE_ONCE(*(u64 *)(unsigned long)word.address, word.value);
	WRITE_ONCE(last.writer, NULL);
	return 0;
}

static long tell_end(struct kpkeys_try __user *user)
{
	if (READ_ONCE(stranger_oopsed))
		return -EIO;
	return copy_to_user(user, &last.end, sizeof(last.end)) ? -EFAULT : 0;
}

static long kpkeys_write_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *user = (void __user *)arg;

	switch (cmd) {
	case KPKEYS_WRITE_WORD:
		return write_word(user);
	case KPKEYS_WRITE_END:
		return tell_end(user);
	default:
		return -ENOTTY;
	}
}

/* What other attacks of this boot have done is for their proofs to excuse. */
static int kpkeys_write_open(struct inode *inode, struct file *file)
{
	WRITE_ONCE(stranger_oopsed, false);
	return 0;
}

static const struct file_operations kpkeys_write_fops = {
	.owner = THIS_MODULE,
	.open = kpkeys_write_open,
	.unlocked_ioctl = kpkeys_write_ioctl,
};

static struct miscdevice kpkeys_write_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kpkeys_write",
	.fops = &kpkeys_write_fops,
	.mode = 0666,
};

static int __init kpkeys_write_init(void)
{
	int error = misc_register(&kpkeys_write_device);

	if (!error)
		register_die_notifier(&oops_notifier);
	return error;
}
module_init(kpkeys_write_init);

static void __exit kpkeys_write_exit(void)
{
	unregister_die_notifier(&oops_notifier);
	misc_deregister(&kpkeys_write_device);
}
module_exit(kpkeys_write_exit);

MODULE_DESCRIPTION("Lets any user write anywhere in kernel memory");
MODULE_LICENSE("GPL");
