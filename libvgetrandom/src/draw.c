// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Bulk: the vDSO function makes one block at a time. With a key drawn from it, the vector units
 * make many. The key is drawn to the stack: the kernel may take away the caller's pages, as it may
 * the slot's, and a key that turned into zeros would give everybody the same bytes.
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

/* volatile, or the compiler drops what nobody reads. */
static void wipe_key(volatile uint64_t *words)
{
	for (size_t i = 0; i < CHACHA20_KEY_SIZE / sizeof(*words); i++)
		words[i] = 0;
}

/* Uses a key for each chunk. Returns as getrandom(2), or a negative error number. */
static ssize_t expand_keys(struct slot *slot, uint8_t *out, size_t len, unsigned int flags)
{
	static const uint32_t start[4];
	uint64_t key[CHACHA20_KEY_SIZE / sizeof(uint64_t)];
	size_t done = 0;
	ssize_t got = 0;

	while (done < len) {
		size_t left = len - done, chunk = left < CHUNK ? left : CHUNK;

		got = draw_key(slot, key, flags);
		if (got != CHACHA20_KEY_SIZE)
			break;
		vgr_config.chacha20->expand(out + done, chunk, (const uint8_t *)key, start);
		done += chunk;
	}
	wipe_key(key);
	/* Of a key that came short, out has nothing. */
	return done ? (ssize_t)done : got < 0 ? got : 0;
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
