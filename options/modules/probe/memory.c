// SPDX-License-Identifier: GPL-2.0
/* Attacks by copies and writes to where they should not go. */
#include <linux/cred.h>
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

/*
 * Can a process be put into a group by who knows the source? Of the kernel's own view of
 * struct cred, which decides, this module makes no use.
 */
static void forge_group(struct tally *tally)
{
	/* In the source, a counter and five other IDs come before egid. */
	const size_t place = sizeof(atomic_long_t) + 5 * sizeof(u32);
	const u32 forged = 12345;
	struct cred *new = prepare_creds();
	const struct cred *own;
	u32 *group, before;

	if (!new)
		return;
	group = (void *)new + place;
	before = *group;
	*group = forged;
	own = override_creds(new);
	count(tally, in_egroup_p(KGIDT_INIT(forged)));
	revert_creds(own);
	*group = before;
	abort_creds(new);
}

const struct attack memory_attacks[] = {
	{ "usercopy_vmalloc", usercopy_vmalloc },
	{ "write_constant", write_constant },
	{ "forge_group", forge_group },
	{},
};
