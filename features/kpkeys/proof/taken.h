/* SPDX-License-Identifier: GPL-2.0 */
/* Whether a page of the attacker's has become a page table. */
#ifndef TAKEN_H
#define TAKEN_H

#include "kinds.h"
#include "tables.h"
#include "write_record.h"

/* Whether tables of the space are in the page. */
static inline bool was_taken(const struct tables *t, uint64_t page, uint64_t space)
{
	for (enum level level = PTE; level < PGD; level++)
		if ((find_entry(t, space, level).address & -(uint64_t)PAGE_SIZE) == page)
			return true;
	return false;
}

/* Tell if so: they are the attacker's to write. */
static inline bool took(const struct tables *t, uint64_t page, uint64_t space, enum kind kind)
{
	bool taken = was_taken(t, page, space);

	if (taken)
		print_write(kind, (struct kpkeys_try){ .landed = 1, .code = KPKEYS_NO_FAULT });
	return taken;
}

#endif
