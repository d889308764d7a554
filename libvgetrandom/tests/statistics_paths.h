/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The paths that the statistics cover, each with requests of many lengths. */
#ifndef VGR_TESTS_STATISTICS_PATHS_H
#define VGR_TESTS_STATISTICS_PATHS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <vgetrandom.h>

#include "check.h"

struct path {
	const char *name;
	void (*draw)(uint8_t *out, size_t len);
};

/* Draws len bytes with requests of these lengths in turn. */
static inline void draw_by_lengths(uint8_t *out, size_t len, const size_t *lengths, size_t count)
{
	for (size_t i = 0; len; i++) {
		size_t part = lengths[i % count] < len ? lengths[i % count] : len;

		check(vgetrandom(out, part, 0) == (ssize_t)part, "vgetrandom(%zu)", part);
		out += part;
		len -= part;
	}
}

static inline void draw_pass_through(uint8_t *out, size_t len)
{
	static const size_t lengths[] = { 4, 8, 127, 1, 16, 32, 96, 64, 12, 100 };

	draw_by_lengths(out, len, lengths, sizeof(lengths) / sizeof(*lengths));
}

static inline void draw_bulk(uint8_t *out, size_t len)
{
	static const size_t lengths[] = { 128, 300, 4096, 1021, 70000, 256, 65568, 8192 };

	draw_by_lengths(out, len, lengths, sizeof(lengths) / sizeof(*lengths));
}

/* Mostly integers, since that is what programs draw. */
static inline void draw_batch(uint8_t *out, size_t len)
{
	enum { STRIDE = sizeof(uint64_t) + sizeof(uint32_t) + 13 };

	for (; len >= STRIDE; len -= STRIDE) {
		uint64_t wide = vgetrandom_batch_u64();
		uint32_t narrow = vgetrandom_batch_u32();

		memcpy(out, &wide, sizeof(wide));
		memcpy(out + sizeof(wide), &narrow, sizeof(narrow));
		vgetrandom_batch_bytes(out + sizeof(wide) + sizeof(narrow), 13);
		out += STRIDE;
	}
	vgetrandom_batch_bytes(out, len);
}

static const struct path paths[] = {
	{ "pass-through", draw_pass_through },
	{ "bulk", draw_bulk },
	{ "batch", draw_batch },
};

enum {
	PATHS = sizeof(paths) / sizeof(*paths),
};

/* Returns NULL if there is no path of that name. */
static inline const struct path *path_named(const char *name)
{
	for (int i = 0; i < PATHS; i++) {
		if (!strcmp(paths[i].name, name))
			return &paths[i];
	}
	return NULL;
}

#endif
