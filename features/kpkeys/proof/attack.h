/* SPDX-License-Identifier: GPL-2.0 */
/* Writes to a page table entry, and prints what came of it. */
#ifndef ATTACK_H
#define ATTACK_H

#include "kinds.h"
#include "tables.h"
#include "write_record.h"

static inline void attack(const struct tables *t, struct table_entry entry, enum kind kind)
{
	if (entry.address)
		print_write(kind, probe_write(t->probe, entry.address));
}

#endif
