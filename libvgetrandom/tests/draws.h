/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Draws values from all of the library's paths; none of them may come twice. */
#ifndef VGR_TESTS_DRAWS_H
#define VGR_TESTS_DRAWS_H

#include <stdint.h>
#include <string.h>
#include <vgetrandom.h>

#include "check.h"

enum {
	/* Values that draw_all_paths() draws. */
	PATHS = 7,
};

static inline void draw_into(void *buf, size_t len)
{
	check(vgetrandom(buf, len, 0) == (ssize_t)len, "vgetrandom(%zu)", len);
}

static inline void draw_all_paths(uint64_t values[PATHS])
{
	uint64_t bulk[40], bytes[3];

	draw_into(values, sizeof(*values));
	/* More than one pass of the narrow core: take its beginning and its end. */
	draw_into(bulk, sizeof(bulk));
	values[1] = bulk[0];
	values[2] = bulk[sizeof(bulk) / sizeof(*bulk) - 1];
	values[3] = vgetrandom_batch_u64();
	vgetrandom_batch_bytes(bytes, sizeof(bytes));
	values[4] = bytes[0];
	values[5] = bytes[2];
	values[6] = (uint64_t)vgetrandom_batch_u32() << 32;
	values[6] |= vgetrandom_batch_u32();
}

#endif
