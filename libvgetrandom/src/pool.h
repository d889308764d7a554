/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Slots, each for one call at a time. A slot never has two holders, and nothing waits. */
#ifndef VGR_POOL_H
#define VGR_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	/* The smallest page of all architectures: a slot's memory must not straddle two pages. */
	SLOT_PAGE_SIZE = 4096,
	/* Size of the vDSO's opaque state, rounded up so that it shares no cache line. */
	SLOT_STATE_MAX = 2048,
	SLOT_STATE_ALIGN = 64,
	/* Slots made at a time: with a head they fill a page, and their bits a word. */
	POOL_CHUNK_SLOTS = 63,
};

/* Follows the opaque state in the slot's page. The kernel may make it all zero at any moment. */
struct slot_buffer {
	/* Set before drawing a key; zero afterwards: a fork or drop may have repeated the key. */
	uint32_t bulk_mark;
	/* The same for the contents of bytes. */
	uint32_t batch_mark;
	/* Aligns bytes to a cache line, for the vector units. */
	uint32_t unused[14];
	uint8_t bytes[];
};

/* In ordinary memory, which is never dropped. */
struct slot {
	/* The opaque state, in memory that is droppable, wiped on fork, and in no core dump. */
	void *state;
	struct slot_buffer *buffer;
	/* A call is using it, or was left by a jump, which looks the same. */
	uint32_t busy;
	/* Goes back to the pool after this call. */
	uint32_t borrowed;
	/* Bytes of buffer not yet drawn, if batch_mark is set. */
	uint32_t batch_left;
	/* When only this many are left, check the batch's age. */
	uint32_t batch_stop;
	/* Bytes between the last two checks. */
	uint32_t age_step;
	/* The thread that has it; 0 for none, and while it is being taken or given back. */
	uint32_t taker;
	/* When the batch was filled, and when its age was last checked, in nanoseconds. */
	uint64_t filled_at, seen_at;
	/* The next slot of the thread that holds it, while one does. */
	struct slot *next;
} __attribute__((aligned(64)));

bool vgr_pool_can_hold(size_t state_size);

/* How many bytes a slot's buffer holds. */
uint32_t vgr_slot_buffer_size(void);

/* Returns NULL if there is no memory. Requires the vDSO function. */
struct slot *vgr_pool_take(void);

void vgr_pool_give(struct slot *slot);

/* For the only thread of a forked child: gives back what others took from its parent's pool. */
void vgr_pool_give_others(uint32_t taker);

#endif
