// SPDX-License-Identifier: GPL-2.0
/* Attacks on memory that is not the kernel's to copy, or to write. */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include "probe.h"

/* Does a copy to user space go on beyond memory of vmalloc()? */
static void usercopy_vmalloc(struct tally *tally)
{
	u8 *memory = vmalloc(PAGE_SIZE);
	void __user *user = (void __user *)user_page();
	volatile size_t size = PAGE_SIZE;

	if (memory && user)
		count(tally, !copy_to_user(user, memory + PAGE_SIZE / 2, size));
	vfree(memory);
}

/*
 * Can a constant of the kernel itself be written? LKDTM has its own in a module, whose
 * memory is protected elsewhere. It writes what is there.
 */
static void write_constant(struct tally *tally)
{
	volatile char *constant = (volatile char *)hex_asc;

	*constant = *constant;
	count(tally, true);
}

const struct attack memory_attacks[] = {
	{ "usercopy_vmalloc", usercopy_vmalloc },
	{ "write_constant", write_constant },
	{},
};
