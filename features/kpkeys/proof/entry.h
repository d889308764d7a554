/* SPDX-License-Identifier: GPL-2.0 */
/* Finds the entry that maps an address of the kernel, on any kernel. */
#ifndef ENTRY_H
#define ENTRY_H

#include <linux/mm.h>
#include <linux/pgtable.h>

#ifndef CONFIG_X86
#include <asm/sysreg.h>
#endif

#ifdef CONFIG_X86
static inline u64 *entry_of(void *address)
{
	unsigned int level;

	return (u64 *)lookup_address((unsigned long)address, &level);
}
#else
static inline u64 *entry_of(void *address)
{
	pgd_t *top = __va(read_sysreg(ttbr1_el1) & GENMASK_ULL(47, PAGE_SHIFT));
	unsigned long at = (unsigned long)address;
	p4d_t *p4d = p4d_offset(pgd_offset_pgd(top, at), at);

	return (u64 *)pte_offset_kernel(pmd_offset(pud_offset(p4d, at), at), at);
}
#endif

#endif
