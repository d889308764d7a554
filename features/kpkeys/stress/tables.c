// SPDX-License-Identifier: GPL-2.0
/*
 * Description: /proc/kpkeys_tables counts the page tables that can be reached from the
 * kernel's, by what the first address that each one maps belongs to.
 */
#include <linux/kasan.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pgtable.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>

#ifdef CONFIG_X86
#include <asm/special_insns.h>
#else
#include <asm/sysreg.h>
#endif

/* Of the 512 entries of a table. */
#define TABLE_SHIFT 9

#ifdef CONFIG_X86
#define DIRECT_MAP_END VMALLOC_START
#define ADDRESS_MASK   PTE_PFN_MASK
/* The first half of the top table is that of a process. */
#define FIRST_IN_TOP (PTRS_PER_PGD / 2)

static u64 *top_table(void)
{
	return __va(read_cr3_pa());
}

static bool is_table(u64 entry)
{
	return entry & _PAGE_PRESENT && !(entry & _PAGE_PSE);
}
#else
#define DIRECT_MAP_END PAGE_END
#define ADDRESS_MASK   GENMASK_ULL(47, PAGE_SHIFT)
#define FIRST_IN_TOP   0

static u64 *top_table(void)
{
	return __va(read_sysreg(ttbr1_el1) & ADDRESS_MASK);
}

static bool is_table(u64 entry)
{
	return (entry & PTE_TYPE_MASK) == (PTE_VALID | PTE_TABLE_BIT);
}
#endif

enum place { DIRECT_MAP, VMALLOC, VMEMMAP, SHADOW, OTHER, PLACES };

static const char *const names[PLACES] = {
	[DIRECT_MAP] = "direct_map", [VMALLOC] = "vmalloc", [VMEMMAP] = "vmemmap",
	[SHADOW] = "kasan_shadow",   [OTHER] = "other",
};

static enum place place_of(unsigned long address)
{
#ifdef CONFIG_KASAN
	if (address >= KASAN_SHADOW_START && address < KASAN_SHADOW_END)
		return SHADOW;
#endif
	if (address >= PAGE_OFFSET && address < DIRECT_MAP_END)
		return DIRECT_MAP;
	if (address >= VMALLOC_START && address < VMEMMAP_START)
		return VMALLOC;
	if (address < VMEMMAP_START)
		return OTHER;
	/* What all struct pages take at most, and nothing else lies in. */
	return address - VMEMMAP_START < PGDIR_SIZE ? VMEMMAP : OTHER;
}

/* Count a table and those below it. Each entry of it maps 1 << shift bytes. */
static void count(unsigned long *found, u64 *table, int shift, unsigned long address)
{
	unsigned long i = shift == PGDIR_SHIFT ? FIRST_IN_TOP : 0;

	/* Reserved pages are those of the image and of early boot, not of the pool. */
	if (!PageReserved(virt_to_page(table)))
		found[place_of(address)]++;
	if (shift == PAGE_SHIFT)
		return;
	for (; i < PTRS_PER_PTE; i++) {
		u64 entry = READ_ONCE(table[i]);

		/* KASAN has tables whose entries all lead to one other. */
		if (i && entry == READ_ONCE(table[i - 1]))
			continue;
		if (is_table(entry))
			count(found, __va(entry & ADDRESS_MASK), shift - TABLE_SHIFT,
			      address | i << shift);
	}
}

static int show(struct seq_file *to, void *unused)
{
	unsigned long found[PLACES] = {};
	int i;

	count(found, top_table(), PGDIR_SHIFT, -1UL << (PGDIR_SHIFT + TABLE_SHIFT));
	for (i = 0; i < PLACES; i++)
		seq_printf(to, "%s %lu\n", names[i], found[i]);
	return 0;
}

static int __init tables_init(void)
{
	return proc_create_single("kpkeys_tables", 0400, NULL, show) ? 0 : -ENOMEM;
}

static void __exit tables_exit(void)
{
	remove_proc_entry("kpkeys_tables", NULL);
}

module_init(tables_init);
module_exit(tables_exit);
MODULE_DESCRIPTION("Counts the page tables of the kernel");
MODULE_LICENSE("GPL");
