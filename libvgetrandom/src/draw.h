/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Random bytes of the kernel's generator, with a slot that the caller has claimed. */
#ifndef VGR_DRAW_H
#define VGR_DRAW_H

#include <stddef.h>
#include <sys/types.h>

#include "compiler.h"
#include "config.h"
#include "pool.h"

enum {
	/* As much as the kernel reads or writes in one system call. */
	DRAW_MAX = 0x7ffff000,
	/*
	 * From here on, drawing a key and expanding it is faster than drawing all. A constant, as
	 * the load of a variable is 2 % of the shortest draw.
	 */
	DRAW_BULK_FROM = 128,
};

/*
 * Expands a fresh key, as often as len asks for. Returns as getrandom(2), or a negative error
 * number.
 */
ssize_t draw_bulk(struct slot *slot, void *buf, size_t len, unsigned int flags);

/* The same from the vDSO alone, or expanded if that is faster. */
static inline ssize_t draw(struct slot *slot, void *buf, size_t len, unsigned int flags)
{
	if (unlikely(len >= DRAW_BULK_FROM))
		return draw_bulk(slot, buf, len, flags);
	return config.vdso(buf, len, flags, slot->state, config.params.size_of_opaque_state);
}

#endif
