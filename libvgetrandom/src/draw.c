// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Bulk: the vDSO function makes one block at a time. With a key drawn from it, the vector units
 * make many. The key is drawn into the caller's buffer, where the output overwrites it first. So it
 * is nowhere else, and whoever can read that buffer learns nothing that they would not get anyway.
 */
#include "draw.h"
#include "sys.h"

enum {
	/* Bytes per key: the most that a clone of the virtual machine could repeat. */
	CHUNK = 1 << 16,
	/* As in the vDSO function, which gives up after the second. */
	ATTEMPTS = 2,
};

static ssize_t draw_key(struct slot *slot, void *key, unsigned int flags)
{
	return vgr_config.vdso(key, CHACHA20_KEY_SIZE, flags, slot->state,
			       vgr_config.params.size_of_opaque_state);
}

/* Uses a key for each chunk. Returns as getrandom(2), or a negative error number. */
static ssize_t expand_keys(struct slot *slot, uint8_t *out, size_t len, unsigned int flags)
{
	static const uint32_t start[4];
	size_t done = 0;

	/* A rest that is too short to hold a key belongs to the last chunk. */
	while (done < len) {
		size_t left = len - done;
		size_t chunk = left < CHUNK + CHACHA20_KEY_SIZE ? left : CHUNK;
		ssize_t got = draw_key(slot, out + done, flags);

		if (got != CHACHA20_KEY_SIZE)
			return done ? (ssize_t)done : got;
		vgr_config.chacha20->expand(out + done, chunk, out + done, start);
		done += chunk;
	}
	return (ssize_t)done;
}

/*
 * A fork while keys are expanded would give parent and child the same bytes. The mark tells whether
 * there was one, just as the vDSO's own mark does until its last check: if so, make everything
 * again.
 */
ssize_t vgr_draw_bulk(struct slot *slot, void *buf, size_t len, unsigned int flags)
{
	if (len > DRAW_MAX)
		len = DRAW_MAX;
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		ssize_t got;

		WRITE_ONCE(slot->buffer->bulk_mark, 1);
		signal_fence();
		got = expand_keys(slot, buf, len, flags);
		signal_fence();
		if (got < 0 || likely(READ_ONCE(slot->buffer->bulk_mark)))
			return got;
	}
	return sys_getrandom(buf, len, flags);
}
