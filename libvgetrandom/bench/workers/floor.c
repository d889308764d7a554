/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "floor.h"

#include <errno.h>

#include "compiler.h"
#include "thread.h"

enum {
	/* As many as the library has in a page. */
	NUMBERS = 3072 / sizeof(uint64_t),
};

struct floor_thread {
	void *state;
	uint32_t busy;
	uint32_t intact;
	uint32_t left;
	uint32_t start[4];
	uint64_t numbers[NUMBERS];
};

static struct floor_config floor_config;
static uint8_t key[CHACHA20_KEY_SIZE];
static _Thread_local struct floor_thread thread EARLY_TLS;

void floor_prepare(const struct floor_config *config)
{
	floor_config = *config;
}

void floor_begin(unsigned int index, void *state)
{
	thread.state = state;
	thread.start[2] = index;
}

static always_inline ssize_t draw(void *buf, size_t len, unsigned int flags)
{
	return floor_config.vdso(buf, len, flags, thread.state, floor_config.state_size);
}

ssize_t floor_draw(void *buf, size_t len, unsigned int flags)
{
	return draw(buf, len, flags);
}

ssize_t floor_draw_marked(void *buf, size_t len, unsigned int flags)
{
	ssize_t got;

	if (unlikely(READ_ONCE(thread.busy)))
		return -EBUSY;
	WRITE_ONCE(thread.busy, 1);
	signal_fence();
	got = draw(buf, len, flags);
	signal_fence();
	WRITE_ONCE(thread.busy, 0);
	return got;
}

static noinline void refill(void)
{
	/* The nonce's other half, so that no buffer repeats another. */
	thread.start[3]++;
	floor_config.chacha20->expand((uint8_t *)thread.numbers, sizeof(thread.numbers), key,
				      thread.start);
	thread.left = NUMBERS;
	thread.intact = 1;
}

static always_inline uint64_t take(void)
{
	uint64_t number;

	if (unlikely(!thread.left))
		refill();
	number = thread.numbers[--thread.left];
	thread.numbers[thread.left] = 0;
	return number;
}

uint64_t floor_u64(void)
{
	return take();
}

uint64_t floor_u64_marked(void)
{
	uint64_t number;

	if (unlikely(READ_ONCE(thread.busy)))
		return 0;
	WRITE_ONCE(thread.busy, 1);
	signal_fence();
	number = take();
	drop_fence();
	if (unlikely(!READ_ONCE(thread.intact)))
		refill();
	signal_fence();
	WRITE_ONCE(thread.busy, 0);
	return number;
}
