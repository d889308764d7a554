/* SPDX-License-Identifier: GPL-2.0 */
/* A set of pages by address, which keeps the order of insertion. */
#ifndef PAGES_H
#define PAGES_H

#include <search.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct pages {
	uint64_t *addresses;
	size_t count;
	size_t room;
	/* For tsearch(); its keys are the addresses themselves. */
	void *tree;
};

static inline int pages_compare(const void *one, const void *other)
{
	return (one > other) - (one < other);
}

static inline bool pages_have(const struct pages *p, uint64_t address)
{
	return tfind((void *)(uintptr_t)address, &p->tree, pages_compare);
}

/* Return whether it is new. */
static inline bool pages_add(struct pages *p, uint64_t address)
{
	if (pages_have(p, address))
		return false;
	if (p->count == p->room) {
		p->room = p->room ? p->room * 2 : 64;
		p->addresses = realloc(p->addresses, p->room * sizeof(*p->addresses));
	}
	if (!p->addresses || !tsearch((void *)(uintptr_t)address, &p->tree, pages_compare)) {
		fprintf(stderr, "no memory for %zu pages\n", p->count);
		exit(1);
	}
	p->addresses[p->count++] = address;
	return true;
}

static inline void pages_destroy(struct pages *p)
{
	while (p->count)
		tdelete((void *)(uintptr_t)p->addresses[--p->count], &p->tree, pages_compare);
	free(p->addresses);
	p->addresses = NULL;
}

#endif
