/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Finds page tables as an attacker does: from the top table down, reading all of them
 * through the direct map.
 */
#ifndef TABLES_H
#define TABLES_H

#include "pages.h"
#include "probe.h"

/* Levels are counted from the entries that map pages of 4 KiB. */
enum level { PTE, PMD, PUD, P4D, PGD };

enum { PAGE_SHIFT = 12, LEVEL_SHIFT = 9, ENTRIES = 512 };

/* Of a struct page */
enum { PAGE_DESCRIPTOR_SIZE = 64 };

#define PAGE_SIZE (1UL << PAGE_SHIFT)
#define PRESENT   (1UL << 0)

/*
 * Where in its top table a process ends and the kernel begins, and what an entry has
 * that leads to another table.
 */
#ifdef __x86_64__
enum { USER_END = ENTRIES / 2, KERNEL_FIRST = ENTRIES / 2 };
#define LARGE        (1UL << 7)
#define TABLE        PRESENT
#define IS_TABLE     (TABLE | LARGE)
#define ADDRESS_MASK 0x000ffffffffff000UL
#else
enum { USER_END = ENTRIES, KERNEL_FIRST = 0 };
#define TABLE        (PRESENT | 1UL << 1)
#define IS_TABLE     TABLE
#define ADDRESS_MASK 0x0000fffffffff000UL
#endif

/* @top: physical address of a top table, of the process or another one */
struct tables {
	int probe;
	struct kpkeys_probe_places places;
	uint64_t top;
};

/* @address: the entry's address in the direct map, or 0; @value: its contents */
struct table_entry {
	uint64_t address;
	uint64_t value;
	enum level level;
};

static inline struct tables own_tables(int probe)
{
	struct tables t = { .probe = probe, .places = probe_places(probe) };

	t.top = t.places.top;
	return t;
}

/* The same, from the top of the kernel's own. */
static inline struct tables kernels_tables(int probe)
{
	struct tables t = own_tables(probe);

	t.top = t.places.kernel_top;
	return t;
}

static inline uint64_t direct(const struct tables *t, uint64_t physical)
{
	return t->places.direct_map + physical;
}

/* 0 if there is no such memory. */
static inline uint64_t read_word(const struct tables *t, uint64_t address)
{
	uint64_t word;

	return probe_read(t->probe, address, &word, sizeof(word)) ? word : 0;
}

/* The entries of a missing level are in the level below it. */
static inline bool level_exists(const struct tables *t, enum level level)
{
	return level == PGD || level + 1UL < t->places.levels;
}

/* How much one entry of a level maps. */
static inline uint64_t level_size(const struct tables *t, enum level level)
{
	uint64_t below = level == PGD ? t->places.levels - 1 : level;

	return PAGE_SIZE << below * LEVEL_SHIFT;
}

static inline bool leads_on(struct table_entry entry)
{
	return entry.level > PTE && (entry.value & IS_TABLE) == TABLE;
}

/* Read entries of the table at @physical. */
static inline void read_entries(const struct tables *t, uint64_t physical, size_t first,
				uint64_t *entries, size_t count)
{
	uint64_t address = direct(t, physical) + first * sizeof(*entries);

	if (probe_read(t->probe, address, entries, count * sizeof(*entries)))
		return;
	fprintf(stderr, "no table at 0x%lx\n", physical);
	exit(1);
}

/* The entry for @address at level @least, or the entry where the walk ends above it. */
static inline struct table_entry find_down_to(const struct tables *t, uint64_t address,
					      enum level least)
{
	struct table_entry entry = { .value = t->top | TABLE, .level = PGD + 1 };

	while (leads_on(entry) && entry.level > least) {
		uint64_t table = entry.value & ADDRESS_MASK, i;

		do
			entry.level--;
		while (!level_exists(t, entry.level));
		i = address / level_size(t, entry.level) % ENTRIES;
		read_entries(t, table, i, &entry.value, 1);
		entry.address = direct(t, table + i * sizeof(entry.value));
	}
	return entry;
}

/* The entry for @address at @level, if there is one. */
static inline struct table_entry find_entry(const struct tables *t, uint64_t address,
					    enum level level)
{
	struct table_entry entry = find_down_to(t, address, level);

	return entry.level == level ? entry : (struct table_entry){ .level = level };
}

/* The entry that maps @address, or would. */
static inline struct table_entry find_leaf(const struct tables *t, uint64_t address)
{
	return find_down_to(t, address, PTE);
}

/* The physical address that @address is mapped to, or 0. */
static inline uint64_t physical_address(const struct tables *t, uint64_t address)
{
	struct table_entry leaf = find_leaf(t, address);
	uint64_t size = level_size(t, leaf.level);

	if (!(leaf.value & PRESENT))
		return 0;
	/* Bit 12 of a large entry is not part of the address. */
	return ((leaf.value & ADDRESS_MASK) & ~(size - 1)) + address % size;
}

/* Add @table and all below its entries from @first to @end to @found, by physical address. */
static inline void find_tables(const struct tables *t, uint64_t table, enum level level,
			       size_t first, size_t end, struct pages *found)
{
	uint64_t entries[ENTRIES];
	enum level below = level - 1;

	if (!pages_add(found, table) || level == PTE)
		return;
	while (!level_exists(t, below))
		below--;
	read_entries(t, table, 0, entries, ENTRIES);
	for (size_t i = first; i < end; i++) {
		struct table_entry entry = { .value = entries[i], .level = level };

		if (leads_on(entry))
			find_tables(t, entry.value & ADDRESS_MASK, below, 0, ENTRIES, found);
	}
}

#endif
