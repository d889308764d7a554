/* SPDX-License-Identifier: GPL-2.0 */
/* What kpkeys_events.c needs to know of x86-64; it includes this. */
#include <asm/special_insns.h>

/* Does this CPU enforce keys, with a closed register? */
static bool is_closed(void)
{
	return native_read_cr4() & X86_CR4_PKS && __rdmsr(MSR_IA32_PKRS) == PKRS_DEFAULT;
}

static int table_levels(void)
{
	return native_read_cr4() & X86_CR4_LA57 ? 5 : 4;
}

static u64 *entry_table(u64 entry, int level)
{
	if (level == 1 || !(entry & _PAGE_PRESENT) || entry & _PAGE_PSE)
		return NULL;
	return __va(entry & PTE_PFN_MASK);
}

/* The top tables that the calling process and the kernel have; returns how many. */
static int top_tables(u64 *tops[2])
{
	tops[0] = __va(read_cr3_pa());
	tops[1] = tops[0] + PTRS_PER_PGD;
	return cpu_feature_enabled(X86_FEATURE_PTI) ? 2 : 1;
}
