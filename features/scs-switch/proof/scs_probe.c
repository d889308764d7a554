// SPDX-License-Identifier: GPL-2.0
/* Shows a process the code that the kernel runs, as it was patched while booting. */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#include "scs_probe.h"

static long probe_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct scs_probe_word __user *user = (void __user *)argument;
	struct scs_probe_word asked;

	if (command != SCS_PROBE_READ)
		return -ENOTTY;
	if (copy_from_user(&asked, user, sizeof(asked)))
		return -EFAULT;
	if (copy_from_kernel_nofault(&asked.word, (void *)(unsigned long)asked.address,
				     sizeof(asked.word)))
		return -EFAULT;
	return copy_to_user(user, &asked, sizeof(asked)) ? -EFAULT : 0;
}

static const struct file_operations probe_operations = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = probe_ioctl,
};

static struct miscdevice probe_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "scs_probe",
	.fops = &probe_operations,
	.mode = 0600,
};

module_misc_device(probe_device);

MODULE_DESCRIPTION("Shows a process the code that the kernel runs");
MODULE_LICENSE("GPL");
