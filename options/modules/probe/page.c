// SPDX-License-Identifier: GPL-2.0
/* Attacks on the page allocator. */
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/math.h>
#include <linux/mm.h>
#include <linux/string.h>
#include "probe.h"

/* Does a page still hold what it held before it was freed? */
static void page_stale(struct tally *tally)
{
	for (int i = 0; i < TRIES; i++) {
		u8 *before = (u8 *)__get_free_page(GFP_KERNEL), *after;

		if (!before)
			return;
		memset(before, PATTERN, PAGE_SIZE);
		OPTIMIZER_HIDE_VAR(before);
		free_page((unsigned long)before);
		after = (u8 *)__get_free_page(GFP_KERNEL);
		if (after == before)
			count(tally, pattern_left(after, PAGE_SIZE));
		free_page((unsigned long)after);
	}
}

/* Can what was freed still be read where it was? */
static void page_freed(struct tally *tally)
{
	for (int i = 0; i < TRIES; i++) {
		u8 *memory = (u8 *)__get_free_page(GFP_KERNEL);

		if (!memory)
			return;
		memset(memory, PATTERN, PAGE_SIZE);
		OPTIMIZER_HIDE_VAR(memory);
		free_page((unsigned long)memory);
		count(tally, pattern_left(memory, PAGE_SIZE));
	}
}

/* Is the largest block that the page allocator gives next beside the last? */
static void page_order(struct tally *tally)
{
	static struct page *pages[TRIES];

	for (int i = 0; i < TRIES / 4; i++) {
		pages[i] = alloc_pages(GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN, MAX_PAGE_ORDER);
		if (i && pages[i] && pages[i - 1])
			count(tally, abs(page_to_pfn(pages[i]) - page_to_pfn(pages[i - 1])) ==
					     1L << MAX_PAGE_ORDER);
	}
	for (int i = 0; i < TRIES / 4; i++)
		if (pages[i])
			__free_pages(pages[i], MAX_PAGE_ORDER);
}

const struct attack page_attacks[] = {
	{ "page_stale", page_stale },
	{ "page_freed", page_freed },
	{ "page_order", page_order },
	{},
};
