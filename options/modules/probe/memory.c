// SPDX-License-Identifier: GPL-2.0
/* Attacks by copies and writes to where they should not go. */
#include <linux/cred.h>
#include <linux/kernel.h>
#include <linux/math.h>
#include <linux/mm.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include "probe.h"

/*
 * Does a copy to user space go on from memory of vmalloc() to what lies behind it? Some
 * areas fill gaps, so it is from one that has another behind it, if there is any.
 */
static void usercopy_vmalloc(struct tally *tally)
{
	u8 *areas[16], *from;
	void __user *user = (void __user *)user_page();
	volatile size_t size = PAGE_SIZE;

	for (int i = 0; i < ARRAY_SIZE(areas); i++)
		areas[i] = vmalloc(PAGE_SIZE);
	from = areas[0];
	for (int i = 0; i < ARRAY_SIZE(areas); i++)
		for (int j = 0; areas[i] && j < ARRAY_SIZE(areas); j++)
			if (areas[j] == areas[i] + PAGE_SIZE)
				from = areas[i];
	/* The compiler must not know its size: it would refuse the copy. */
	OPTIMIZER_HIDE_VAR(from);
	if (from && user)
		count(tally, !copy_to_user(user, from + PAGE_SIZE / 2, size));
	for (int i = 0; i < ARRAY_SIZE(areas); i++)
		vfree(areas[i]);
}

/* Writes what is there. */
static void overwrite(const void *address, struct tally *tally)
{
	volatile char *place = (volatile char *)address;

	*place = *place;
	count(tally, true);
}

/*
 * Can a constant of the kernel itself be written? LKDTM has its own in a module, whose
 * memory is protected elsewhere.
 */
static void write_constant(struct tally *tally)
{
	overwrite(hex_asc, tally);
}

/* Can the kernel's code? */
static void write_code(struct tally *tally)
{
	overwrite(int_sqrt, tally);
}

/* Can the same be written where all memory is mapped? */
static void write_constant_alias(struct tally *tally)
{
	overwrite(lm_alias(hex_asc), tally);
}

static void write_code_alias(struct tally *tally)
{
	overwrite(lm_alias(int_sqrt), tally);
}

/* Can the code of a module? */
static void write_module_alias(struct tally *tally)
{
	unsigned long code = (unsigned long)write_code;
	struct page *page = vmalloc_to_page((void *)code);

	if (page)
		overwrite(page_address(page) + offset_in_page(code), tally);
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

#ifdef CONFIG_X86_64
/* Is all memory mapped where the attacker knows it from the source, or another boot? */
static void direct_map(struct tally *tally)
{
	unsigned long usual = pgtable_l5_enabled() ? __PAGE_OFFSET_BASE_L5 : __PAGE_OFFSET_BASE_L4;

	tally->seen = PAGE_OFFSET - usual;
	count(tally, !tally->seen);
}
#endif

const struct attack memory_attacks[] = {
#ifdef CONFIG_X86_64
	{ "direct_map", direct_map },
#endif
	{ "usercopy_vmalloc", usercopy_vmalloc },
	{ "write_constant", write_constant },
	{ "write_code", write_code },
	{ "write_constant_alias", write_constant_alias },
	{ "write_code_alias", write_code_alias },
	{ "write_module_alias", write_module_alias },
	{ "forge_group", forge_group },
	{},
};
