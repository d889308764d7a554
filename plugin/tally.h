/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts by key, which stay where they are in memory. */
#ifndef TEMPER_TALLY_H
#define TEMPER_TALLY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct tally {
	void *root;
};

/* Returns the count of @key, 0 at first. */
uint64_t *tally_at(struct tally *tally, uint64_t key);

/* The same for a key that may not be there: NULL then. */
const uint64_t *tally_find(const struct tally *tally, uint64_t key);

/* Writes [[key, count], ...], without counts of 0, in the order of keys; clears all. */
void tally_flush(struct tally *tally, FILE *out);

#endif
