/* SPDX-License-Identifier: GPL-2.0 */
/* What kpkeys_events.c needs to know of arm64; it includes this. */
#include <asm/sysreg.h>

/* Does this CPU enforce keys, with a closed register? */
static bool is_closed(void)
{
	return read_sysreg_s(SYS_TCR2_EL1) & TCR2_EL1x_POE &&
	       read_sysreg_s(SYS_POR_EL1) == POR_EL1_DEFAULT;
}

static int table_levels(void)
{
	return CONFIG_PGTABLE_LEVELS;
}

static u64 *entry_table(u64 entry, int level)
{
	if (level == 1 || (entry & PMD_TYPE_MASK) != PMD_TYPE_TABLE)
		return NULL;
	return __va(__pte_to_phys(__pte(entry)));
}

/* The top tables that the calling process and the kernel have; returns how many. */
static int top_tables(u64 *tops[2])
{
	tops[0] = (u64 *)current->mm->pgd;
	tops[1] = __va(read_sysreg(ttbr1_el1) & GENMASK_ULL(47, PAGE_SHIFT));
	return 2;
}
