// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Chunks of 63 slots, with a bit for each free slot. There are no locks, so a signal handler can
 * take a slot while the code that it interrupted takes one, and the child of a fork finds nothing
 * half done. Chunks are never unmapped: the kernel may drop their pages.
 */
#include <stdatomic.h>
#include <sys/mman.h>

#include "compiler.h"
#include "config.h"
#include "pool.h"
#include "sys.h"

enum {
	/* Bytes that AVX-512 makes at a time: a part of them takes as long as all. */
	WIDEST_PASS = 1024,
};

struct chunk {
	struct chunk *next;
	_Atomic uint64_t free;
	struct slot slots[POOL_CHUNK_SLOTS];
};

_Static_assert(sizeof(struct chunk) == 4096, "a chunk is a page");

static _Atomic(struct chunk *) chunks;

static size_t state_space(void)
{
	return (vgr_config.params.size_of_opaque_state + SLOT_STATE_ALIGN - 1) &
	       ~(size_t)(SLOT_STATE_ALIGN - 1);
}

bool vgr_pool_can_hold(size_t state_size)
{
	return state_size <= SLOT_STATE_MAX;
}

uint32_t vgr_slot_buffer_size(void)
{
	size_t room = SLOT_PAGE_SIZE - state_space() - sizeof(struct slot_buffer);

	return (uint32_t)(room - room % WIDEST_PASS);
}

static struct chunk *map_chunk(void)
{
	size_t pages_size = (size_t)POOL_CHUNK_SLOTS * SLOT_PAGE_SIZE;
	uint8_t *pages = sys_mmap(pages_size, (int)vgr_config.params.mmap_prot,
				  (int)vgr_config.params.mmap_flags);
	struct chunk *chunk;

	if (!pages)
		return NULL;
	chunk = sys_mmap(sizeof(*chunk), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
	if (!chunk) {
		sys_munmap(pages, pages_size);
		return NULL;
	}
	for (int i = 0; i < POOL_CHUNK_SLOTS; i++) {
		struct slot *slot = &chunk->slots[i];

		slot->state = pages + (size_t)i * SLOT_PAGE_SIZE;
		slot->buffer = (void *)((uint8_t *)slot->state + state_space());
	}
	return chunk;
}

static struct slot *take_from(struct chunk *chunk)
{
	uint64_t free = atomic_load_explicit(&chunk->free, memory_order_relaxed);

	while (free) {
		if (atomic_compare_exchange_weak_explicit(&chunk->free, &free, free & (free - 1),
							  memory_order_acquire,
							  memory_order_relaxed))
			return &chunk->slots[__builtin_ctzll(free)];
	}
	return NULL;
}

static struct slot *take_from_new(void)
{
	struct chunk *chunk = map_chunk();

	if (!chunk)
		return NULL;
	atomic_store_explicit(&chunk->free, (1ULL << POOL_CHUNK_SLOTS) - 2, memory_order_relaxed);
	chunk->next = atomic_load(&chunks);
	while (!atomic_compare_exchange_weak(&chunks, &chunk->next, chunk))
		;
	return &chunk->slots[0];
}

struct slot *vgr_pool_take(void)
{
	for (struct chunk *chunk = atomic_load(&chunks); chunk; chunk = chunk->next) {
		struct slot *slot = take_from(chunk);

		if (slot)
			return slot;
	}
	return take_from_new();
}

/* A jump left the call: nothing may continue with what the call left half done. */
static void wipe(struct slot *slot)
{
	volatile uint64_t *words = slot->state;

	for (size_t i = 0; i < SLOT_PAGE_SIZE / sizeof(*words); i++)
		words[i] = 0;
}

static struct chunk *chunk_of(const struct slot *slot)
{
	struct chunk *chunk = atomic_load(&chunks);

	while (slot < chunk->slots || slot >= chunk->slots + POOL_CHUNK_SLOTS)
		chunk = chunk->next;
	return chunk;
}

void vgr_pool_give(struct slot *slot)
{
	struct chunk *chunk = chunk_of(slot);

	if (slot->busy)
		wipe(slot);
	slot->busy = 0;
	/* What was drawn for one thread is not for the next. */
	slot->batch_left = 0;
	slot->taker = 0;
	atomic_fetch_or_explicit(&chunk->free, 1ULL << (slot - chunk->slots), memory_order_release);
}

/*
 * A slot without a taker may be one that this thread was taking or giving back when a signal
 * handler forked, and that it is about to use or to give. It stays taken: that costs address space,
 * but no memory, because a fork wipes pages by not mapping them. A handler that interrupts this may
 * fork, too, and its child then does the same, and draws.
 */
static void give_others_of(struct chunk *chunk, uint32_t taker)
{
	uint64_t taken = ~atomic_load(&chunk->free) & ((1ULL << POOL_CHUNK_SLOTS) - 1);

	for (; taken; taken &= taken - 1) {
		struct slot *slot = &chunk->slots[__builtin_ctzll(taken)];

		uint32_t other = READ_ONCE(slot->taker);

		if (other && other != taker &&
		    __atomic_compare_exchange_n(&slot->taker, &other, 0, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			vgr_pool_give(slot);
	}
}

void vgr_pool_give_others(uint32_t taker)
{
	for (struct chunk *chunk = atomic_load(&chunks); chunk; chunk = chunk->next)
		give_others_of(chunk, taker);
}
