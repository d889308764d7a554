// SPDX-License-Identifier: GPL-2.0
/*
 * Description: when it is loaded, maps and unmaps kernel memory once in all ways that a
 * module can.
 */
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/set_memory.h>
#include <linux/vmalloc.h>

#define MAX_PAGES 64
/* A device that does not mind: on x86 the HPET, else the flags of QEMU's serial port. */
#ifdef CONFIG_X86
#define DEVICE 0xfed00000
#else
#define DEVICE 0x09000018
#endif
/* Memory is short on purpose, so do not report failures. */
#define MAY_FAIL (GFP_KERNEL | __GFP_NOWARN)

static void churn_vmalloc(void)
{
	unsigned long size;
	char *area;

	for (size = PAGE_SIZE; size <= 4 << 20; size *= 2) {
		area = size < PMD_SIZE ? __vmalloc(size, MAY_FAIL) : vmalloc_huge(size, MAY_FAIL);
		if (!area)
			continue;
		area[0] = 1;
		area[size - 1] = 1;
		vfree(area);
	}
}

static unsigned int take_pages(struct page **pages)
{
	unsigned int i;

	for (i = 0; i < MAX_PAGES; i++) {
		pages[i] = alloc_page(GFP_KERNEL);
		if (!pages[i])
			break;
	}
	return i;
}

static void churn_maps(struct page **pages, unsigned int nr)
{
	char *area = vm_map_ram(pages, nr, NUMA_NO_NODE);

	if (area) {
		area[nr * PAGE_SIZE - 1] = 1;
		vm_unmap_ram(area, nr);
	}
	area = vmap(pages, nr, VM_MAP, PAGE_KERNEL);
	if (area) {
		area[0] = 1;
		vunmap(area);
	}
}

/* This splits the direct map, which keeps the table; on arm64 it has single pages. */
static void churn_direct_map(struct page *page)
{
#ifdef CONFIG_X86
	unsigned long addr = (unsigned long)page_address(page);

	if (!set_memory_uc(addr, 1))
		set_memory_wb(addr, 1);
#endif
}

static void churn_io(void)
{
	void __iomem *device = ioremap(DEVICE, sizeof(u32));

	if (device) {
		readl(device);
		iounmap(device);
	}
}

static int __init churn_init(void)
{
	struct page *pages[MAX_PAGES];
	unsigned int i, nr = take_pages(pages);

	churn_vmalloc();
	churn_io();
	if (nr) {
		churn_maps(pages, nr);
		churn_direct_map(pages[0]);
	}
	for (i = 0; i < nr; i++)
		__free_page(pages[i]);
	return 0;
}

static void __exit churn_exit(void)
{
}

module_init(churn_init);
module_exit(churn_exit);
MODULE_DESCRIPTION("Maps and unmaps kernel memory");
MODULE_LICENSE("GPL");
