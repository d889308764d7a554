/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VGR_CHACHA20_H
#define VGR_CHACHA20_H

#include <stddef.h>
#include <stdint.h>

enum {
	CHACHA20_KEY_SIZE = 32,
	CHACHA20_BLOCK_SIZE = 64,
};

/*
 * Writes len bytes of the ChaCha20 key stream to out. start holds words 12 to 15 of the initial
 * state: a 64-bit block counter, low word first, and a 64-bit nonce. key may lie in out: it is read
 * before anything is written. Leaves nothing secret on the stack or in registers.
 */
typedef void chacha20_fn(uint8_t *out, size_t len, const uint8_t key[CHACHA20_KEY_SIZE],
			 const uint32_t start[4]);

struct chacha20 {
	const char *name;
	chacha20_fn *expand;
};

/* The cores that this build has, widest first; an entry without a name ends the list. */
extern const struct chacha20 vgr_chacha20_all[];

/* Whether this CPU and its operating system can run it. */
_Bool vgr_chacha20_usable(const struct chacha20 *chacha20);

/* The widest usable core. */
const struct chacha20 *vgr_chacha20_widest(void);

#endif
