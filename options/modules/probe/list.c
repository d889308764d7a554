// SPDX-License-Identifier: GPL-2.0
/* Attacks on lists: LKDTM overwrites pointers to what follows, these what goes before. */
#include <linux/kernel.h>
#include <linux/list.h>
#include "probe.h"

/* Does an insertion write where an attacker has the list's last entry? */
static void list_add_forged(struct tally *tally)
{
	struct list_head elsewhere = {}, entry;
	LIST_HEAD(list);

	list.prev = &elsewhere;
	list_add_tail(&entry, &list);
	count(tally, elsewhere.next == &entry);
}

/* Does a removal write where an attacker has the entry before? */
static void list_del_forged(struct tally *tally)
{
	struct list_head elsewhere = {}, entry;
	LIST_HEAD(list);

	list_add(&entry, &list);
	entry.prev = &elsewhere;
	list_del(&entry);
	count(tally, elsewhere.next == &list);
}

/* Does an entry come into a list twice, so that the list has no end? */
static void list_add_twice(struct tally *tally)
{
	struct list_head entry;
	LIST_HEAD(list);

	list_add(&entry, &list);
	list_add(&entry, &list);
	count(tally, entry.next == &entry);
}

const struct attack list_attacks[] = {
	{ "list_add_forged", list_add_forged },
	{ "list_del_forged", list_del_forged },
	{ "list_add_twice", list_add_twice },
	{},
};
