// SPDX-License-Identifier: GPL-2.0
/* Attacks on page tables, and what they allow. */
#include <linux/bits.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/math.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/sched.h>
#include "probe.h"

/* The table of the kernel's half of memory, as the CPU walks it. */
struct top {
	u64 *table;
	int levels;
	int first;
	int end;
};

#ifdef CONFIG_X86_64
#define VALID              _PAGE_PRESENT
#define ADDRESS            PTE_PFN_MASK
#define IS_LEAF(entry)     ((entry) & _PAGE_PSE)
#define CAN_WRITE(entry)   ((entry) & _PAGE_RW)
#define CAN_EXECUTE(entry) (!((entry) & _PAGE_NX))
#define TABLE_CAN_WRITE    CAN_WRITE
#define TABLE_CAN_EXECUTE  CAN_EXECUTE

static struct top find_top(void)
{
	return (struct top){
		.table = __va(__read_cr3() & CR3_ADDR_MASK),
		.levels = native_read_cr4() & X86_CR4_LA57 ? 5 : 4,
		.first = PTRS_PER_PGD / 2,
		.end = PTRS_PER_PGD,
	};
}
#else
#define VALID                    PTE_VALID
#define ADDRESS                  GENMASK_ULL(47, PAGE_SHIFT)
#define IS_LEAF(entry)           (!((entry) & BIT(1)))
/* With PTE_DBM, the CPU itself makes it writable. */
#define CAN_WRITE(entry)         (!((entry) & PTE_RDONLY) || ((entry) & PTE_DBM))
#define CAN_EXECUTE(entry)       (!((entry) & PTE_PXN))
#define TABLE_CAN_WRITE(entry)   (!((entry) & BIT(62)))
#define TABLE_CAN_EXECUTE(entry) (!((entry) & PMD_TABLE_PXN))

static struct top find_top(void)
{
	int bits = 64 - ((read_sysreg(tcr_el1) & TCR_T1SZ_MASK) >> TCR_T1SZ_OFFSET);
	int levels = ARM64_HW_PGTABLE_LEVELS(bits);

	return (struct top){
		.table = __va(read_sysreg(ttbr1_el1) & ADDRESS),
		.levels = levels,
		.first = 0,
		.end = 1 << (bits - ARM64_HW_PGTABLE_LEVEL_SHIFT(4 - levels)),
	};
}
#endif

static void walk_table(const u64 *table, int level, bool write, bool execute, struct tally *tally);

static void walk_entry(u64 entry, int level, bool write, bool execute, struct tally *tally)
{
	if (!(entry & VALID))
		return;
	if (level == 1 || IS_LEAF(entry))
		count(tally, write && execute && CAN_WRITE(entry) && CAN_EXECUTE(entry));
	else
		walk_table(__va(entry & ADDRESS), level - 1, write && TABLE_CAN_WRITE(entry),
			   execute && TABLE_CAN_EXECUTE(entry), tally);
}

static void walk_table(const u64 *table, int level, bool write, bool execute, struct tally *tally)
{
	for (int i = 0; i < PTRS_PER_PTE; i++)
		walk_entry(READ_ONCE(table[i]), level, write, execute, tally);
}

/* Is any memory of the kernel both writable and executable? */
static void write_execute(struct tally *tally)
{
	struct top top = find_top();

	for (int i = top.first; i < top.end; i++)
		walk_entry(READ_ONCE(top.table[i]), top.levels, true, true, tally);
}

static bool can_execute(unsigned long address)
{
	struct top top = find_top();
	const u64 *table = top.table;
	bool execute = true;

	for (int level = top.levels;; level--) {
		int shift = PAGE_SHIFT + (level - 1) * (PAGE_SHIFT - 3);
		int entries = level == top.levels ? top.end : PTRS_PER_PTE;
		u64 entry = READ_ONCE(table[(address >> shift) & (entries - 1)]);

		if (!(entry & VALID))
			return false;
		if (level == 1 || IS_LEAF(entry))
			return execute && CAN_EXECUTE(entry);
		execute = execute && TABLE_CAN_EXECUTE(entry);
		table = __va(entry & ADDRESS);
	}
}

/* Can anything of the kernel's image be run but its code where it was linked? */
static void execute_image(struct tally *tally)
{
	count(tally, can_execute((unsigned long)hex_asc));
	count(tally, can_execute((unsigned long)lm_alias(hex_asc)));
	count(tally, can_execute((unsigned long)&jiffies));
	count(tally, can_execute((unsigned long)lm_alias(&jiffies)));
	count(tally, can_execute((unsigned long)lm_alias(int_sqrt)));
}

static pte_t *entry_of(unsigned long address)
{
	p4d_t *p4d = p4d_offset(pgd_offset(current->mm, address), address);

	return pte_offset_kernel(pmd_offset(pud_offset(p4d, address), address), address);
}

/* Can an entry of a page table be written through the direct map? It stays as it is. */
static void write_table(struct tally *tally)
{
	unsigned long address = user_page();
	pte_t *entry;

	if (!address)
		return;
	entry = entry_of(address);
	WRITE_ONCE(*entry, READ_ONCE(*entry));
	count(tally, true);
}

#ifdef CONFIG_X86_64
/* Can a process write a page of its own in two places, as if two processes had it? */
static void mapped_twice(struct tally *tally)
{
	unsigned long one = user_page(), other = user_page();
	pte_t *entry, before;

	if (!one || !other)
		return;
	entry = entry_of(other);
	before = ptep_get(entry);
	set_pte_at(current->mm, other, entry, ptep_get(entry_of(one)));
	count(tally, true);
	set_pte_at(current->mm, other, entry, before);
}
#endif

const struct attack table_attacks[] = {
	{ "write_execute", write_execute },
	{ "execute_image", execute_image },
	{ "write_table", write_table },
#ifdef CONFIG_X86_64
	{ "mapped_twice", mapped_twice },
#endif
	{},
};
