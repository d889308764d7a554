/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Random bytes from the kernel's generator, with a slot that the caller has claimed. */
#ifndef VGR_DRAW_H
#define VGR_DRAW_H

#include <stddef.h>
#include <sys/types.h>

#include "compiler.h"
#include "config.h"
#include "pool.h"

enum {
	/* The most that the kernel reads or writes in one system call. */
	DRAW_MAX = 0x7ffff000,
	/*
	 * From this size on, drawing a key and expanding it is faster than drawing everything. A
	 * constant, because loading a variable takes 2 % of the shortest draw.
	 */
	DRAW_BULK_FROM = 128,
};

/*
 * Expands as many fresh keys as len requires. Returns as getrandom(2), or a negative error number.
 */
ssize_t vgr_draw_bulk(struct slot *slot, void *buf, size_t len, unsigned int flags);

/* The same, but directly from the vDSO unless expanding a key is faster. */
static inline ssize_t draw(struct slot *slot, void *buf, size_t len, unsigned int flags)
{
	if (unlikely(len >= DRAW_BULK_FROM))
		return vgr_draw_bulk(slot, buf, len, flags);
	return vgr_config.vdso(buf, len, flags, slot->state,
			       vgr_config.params.size_of_opaque_state);
}

#endif
