// SPDX-License-Identifier: GPL-2.0
/*
 * A bug such as many drivers have had: it lets any user write any value anywhere in the
 * kernel. Never load it where that matters.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#include "kpkeys_write.h"

static long kpkeys_write_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct kpkeys_write_word word;

	if (cmd != KPKEYS_WRITE_WORD)
		return -ENOTTY;
	if (copy_from_user(&word, (const void __user *)arg, sizeof(word)))
		return -EFAULT;
	WRITE_ONCE(*(u64 *)(unsigned long)word.address, word.value);
	return 0;
}

static const struct file_operations kpkeys_write_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = kpkeys_write_ioctl,
};

static struct miscdevice kpkeys_write_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kpkeys_write",
	.fops = &kpkeys_write_fops,
	.mode = 0666,
};
module_misc_device(kpkeys_write_device);

MODULE_DESCRIPTION("Lets any user write anywhere in kernel memory");
MODULE_LICENSE("GPL");
