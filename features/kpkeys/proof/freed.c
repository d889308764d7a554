// SPDX-License-Identifier: GPL-2.0
/*
 * Description: has the kernel free a page of the attacker's as it frees page tables, and
 * looks whether the next table is put there. What tables are freed by is ordinary memory.
 *
 * Usage: freed TRIES
 */
#define _GNU_SOURCE
#include "attack.h"
#include "kinds.h"
#include "memory.h"
#include "record.h"
#include "symbol.h"
#include "taken.h"
#include "warnings.h"

/* Address spaces to make until one has a table in the page */
enum { SPACES = 4 };

/*
 * The page that was freed last is the next table, unless others are freed meanwhile.
 * Return whether it became one.
 */
static bool try_freed(const struct tables *t, uint64_t free_pages)
{
	uint64_t page = probe_freed(t->probe, free_pages), space;
	bool taken = false;

	for (size_t i = 0; i < SPACES && !taken; i++) {
		space = new_space();
		taken = took(t, page, space, KIND_FORGED_FREE);
	}
	if (!taken)
		attack(t, find_entry(t, space, PTE), KIND_FORGED_FREE);
	return taken;
}

static void try_forged_free(const struct tables *t, size_t tries)
{
	uint64_t free_pages = find_symbol("kpkeys_free_pages");
	long before = warnings();
	bool taken = false;

	for (size_t i = 0; i < tries; i++)
		taken |= try_freed(t, free_pages);
	if (taken || warnings() > before)
		return;
	fputs("no freed page became a table, nor was one refused\n", stderr);
	exit(1);
}

int main(int argc, char **argv)
{
	size_t tries = samples_wanted(argc, argv);
	struct tables own = own_tables(probe_open());

	if (!move_to_cpu(0))
		fail("CPU 0");
	try_forged_free(&own, tries);
	return 0;
}
