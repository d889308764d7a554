// SPDX-License-Identifier: GPL-2.0
/*
 * Description: are page tables protected right now?
 *
 * By behaviour: writes to tables of this process, of all levels, that do not go by the
 * functions for it. They are undone if they land.
 *
 * Usage: in_force
 */
#define _GNU_SOURCE
#include "tables.h"

enum { PAGES = 4 };

int main(void)
{
	static char memory[PAGES * PAGE_SIZE];
	struct tables own = own_tables(probe_open());
	int tries = 0, landed = 0;

	for (size_t i = 0; i < PAGES; i++) {
		volatile char *page = memory + i * PAGE_SIZE;

		*page = 1;
		for (enum level level = PTE; level <= PGD; level++) {
			struct table_entry entry = find_entry(&own, (uintptr_t)page, level);

			if (!entry.address)
				continue;
			tries++;
			landed += probe_write(own.probe, entry.address);
		}
	}
	printf("{\"type\":\"in_force\",\"feature\":\"kpkeys\",\"on\":%s,"
	       "\"evidence\":{\"writes\":%d,\"landed\":%d}}\n",
	       tries && !landed ? "true" : "false", tries, landed);
	return 0;
}
