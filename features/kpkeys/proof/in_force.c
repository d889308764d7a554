// SPDX-License-Identifier: GPL-2.0
/*
 * Description: checks whether page tables are protected right now.
 *
 * It checks behaviour: it writes to this process's tables of all levels without the
 * functions that are meant for it, and undoes the writes that land.
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
