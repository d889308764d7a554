/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Counts the pool's slots from outside. */
#ifndef VGR_TESTS_POOL_COUNT_H
#define VGR_TESTS_POOL_COUNT_H

#include "check.h"
#include "droppable.h"
#include "pool.h"

enum {
	/* Each of so many threads maps a chunk if all find the pool empty at once. */
	POOL_MAPPINGS_MAX = 256,
	POOL_SLOTS_MAX = POOL_MAPPINGS_MAX * POOL_CHUNK_SLOTS,
};

/* The number of all slots, free or taken. */
static inline size_t pool_slots(void)
{
	struct mapping mappings[POOL_MAPPINGS_MAX];
	size_t count = droppable_mappings(mappings, POOL_MAPPINGS_MAX), size = 0;

	check(count <= POOL_MAPPINGS_MAX, "%zu mappings", count);
	for (size_t i = 0; i < count; i++)
		size += mappings[i].size;
	check(size % ((size_t)POOL_CHUNK_SLOTS * SLOT_PAGE_SIZE) == 0, "%zu bytes of slots", size);
	return size / SLOT_PAGE_SIZE;
}

/*
 * Ends the test unless exactly this many slots are taken: takes all others, which must not make the
 * pool grow, and gives them back. No other thread may draw meanwhile.
 */
static inline void pool_check_taken(size_t taken)
{
	static struct slot *slots[POOL_SLOTS_MAX];
	size_t all = pool_slots(), free = all - taken;

	check(all >= taken && free < POOL_SLOTS_MAX, "%zu slots, %zu taken", all, taken);
	for (size_t i = 0; i < free; i++)
		slots[i] = vgr_pool_take();
	check(pool_slots() == all, "more than %zu of %zu slots are taken", taken, all);
	slots[free] = vgr_pool_take();
	check(pool_slots() > all, "fewer than %zu of %zu slots are taken", taken, all);
	for (size_t i = 0; i <= free; i++)
		vgr_pool_give(slots[i]);
}

#endif
