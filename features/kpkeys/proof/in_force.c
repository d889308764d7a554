// SPDX-License-Identifier: GPL-2.0
/*
 * Description: checks whether page tables are protected right now.
 *
 * It checks behaviour: it writes to this process's tables of all levels without the
 * functions that are meant for it, and undoes the writes that land. The key has to stop
 * them all.
 *
 * Usage: in_force
 */
#define _GNU_SOURCE
#include "tables.h"

enum { PAGES = 4 };

/* A write by the kernel to a page that is there, and the key forbids it. */
enum { WRITE_TO_KEYED_PAGE = KPKEYS_PRESENT | KPKEYS_WRITE | KPKEYS_BY_KEY };

static bool stopped_by_key(struct kpkeys_try end)
{
	return !end.landed && end.code == WRITE_TO_KEYED_PAGE && !end.astray;
}

int main(void)
{
	static char memory[PAGES * PAGE_SIZE];
	struct tables own = own_tables(probe_open());
	int tries = 0, landed = 0, stopped = 0;

	for (size_t i = 0; i < PAGES; i++) {
		volatile char *page = memory + i * PAGE_SIZE;

		*page = 1;
		for (enum level level = PTE; level <= PGD; level++) {
			struct table_entry entry = find_entry(&own, (uintptr_t)page, level);
			struct kpkeys_try end;

			if (!entry.address)
				continue;
			tries++;
			end = probe_write(own.probe, entry.address);
			landed += end.landed;
			stopped += stopped_by_key(end);
		}
	}
	printf("{\"type\":\"in_force\",\"feature\":\"kpkeys\",\"on\":%s,"
	       "\"evidence\":{\"writes\":%d,\"landed\":%d,\"stopped\":%d}}\n",
	       tries && stopped == tries ? "true" : "false", tries, landed, stopped);
	return 0;
}
