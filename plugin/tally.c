/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "tally.h"

#include <inttypes.h>
#include <search.h>
#include <stdlib.h>

struct item {
	uint64_t key;
	uint64_t count;
};

struct flush {
	FILE *out;
	const char *separator;
};

static int compare(const void *a, const void *b)
{
	const struct item *one = a, *other = b;

	return (one->key > other->key) - (one->key < other->key);
}

uint64_t *tally_at(struct tally *tally, uint64_t key)
{
	const struct item wanted = { .key = key };
	struct item **found = tfind(&wanted, &tally->root, compare);
	struct item *item;

	if (found)
		return &(*found)->count;
	item = calloc(1, sizeof(*item));
	if (!item)
		abort();
	item->key = key;
	if (!tsearch(item, &tally->root, compare))
		abort();
	return &item->count;
}

const uint64_t *tally_find(const struct tally *tally, uint64_t key)
{
	const struct item wanted = { .key = key };
	struct item *const *found = tfind(&wanted, &tally->root, compare);

	return found ? &(*found)->count : NULL;
}

static void flush_item(const void *node, VISIT visit, void *closure)
{
	struct item *item = *(struct item *const *)node;
	struct flush *flush = closure;

	if ((visit != postorder && visit != leaf) || !item->count)
		return;
	fprintf(flush->out, "%s[%" PRIu64 ",%" PRIu64 "]", flush->separator, item->key,
		item->count);
	flush->separator = ",";
	item->count = 0;
}

void tally_flush(struct tally *tally, FILE *out)
{
	struct flush flush = { .out = out, .separator = "" };

	fputc('[', out);
	twalk_r(tally->root, flush_item, &flush);
	fputc(']', out);
}
