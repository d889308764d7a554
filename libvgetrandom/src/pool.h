/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Slots: what one call at a time draws from. Never given to two holders; never waits. */
#ifndef VGR_POOL_H
#define VGR_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	/* The least page of all architectures: what lies in one may not straddle two. */
	SLOT_PAGE_SIZE = 4096,
	/* Of the vDSO's opaque state, rounded up, so that what follows shares no cache line. */
	SLOT_STATE_MAX = 2048,
	SLOT_STATE_ALIGN = 64,
	/* Slots are made so many at a time: with a head they fill a page, and their bits a word. */
	POOL_CHUNK_SLOTS = 63,
};

/* Follows the opaque state in the slot's page. The kernel may make it all zero at any moment. */
struct slot_buffer {
	/* Set before a key is drawn; zero after it says that it was drawn twice, or for another. */
	uint32_t bulk_mark;
	/* The same for what is in bytes. */
	uint32_t batch_mark;
	/* Bytes begin a cache line, as vector units want it. */
	uint32_t unused[14];
	uint8_t bytes[];
};

/* In ordinary memory, which is never dropped. */
struct slot {
	/* The opaque state; of memory that is dropped, wiped on fork, and in no core dump. */
	void *state;
	struct slot_buffer *buffer;
	/* A call is using it. Or was left by a jump, which nobody can tell from that. */
	uint32_t busy;
	/* Goes back to the pool after this call. */
	uint32_t borrowed;
	/* Bytes of buffer not yet drawn, if batch_mark is set. */
	uint32_t batch_left;
	/* With so few left, the batch's age is to be looked at. */
	uint32_t batch_stop;
	/* Bytes between the last two looks. */
	uint32_t age_step;
	/* When the batch was filled, and its age last looked at, in nanoseconds. */
	uint64_t filled_at, seen_at;
	/* Of the thread that holds it, while one does. */
	struct slot *next;
} __attribute__((aligned(64)));

bool pool_can_hold(size_t state_size);

/* How many bytes a slot's buffer holds. */
uint32_t slot_buffer_size(void);

/* Returns NULL without memory. The vDSO must be there. */
struct slot *pool_take(void);

void pool_give(struct slot *slot);

#endif
