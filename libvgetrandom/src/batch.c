// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Batch: numbers from a buffer, erased as they are read. A buffer is bulk, made from a fresh key
 * that is not kept. So memory reveals nothing about numbers already given, and at most one buffer
 * of numbers to come. The mark is checked after each number is read: a fork, or a kernel that
 * needed the page, wipes both.
 */
#include <errno.h>
#include <vgetrandom.h>

#include "batch.h"
#include "compiler.h"
#include "draw.h"
#include "fill.h"
#include "sys.h"
#include "thread.h"

enum {
	NSEC_PER_SEC = 1000000000,
	/* In nanoseconds. Limits how long memory holds numbers that are not used. */
	AGE_MAX = NSEC_PER_SEC,
	/*
	 * Bytes drawn until the age is checked, which costs more than a draw. Doubles, up to this,
	 * each time that the clock did not tick since the last check.
	 */
	STEP_MAX = 512,
	/* Times in a row that the buffer may turn out to be wiped. */
	ATTEMPTS = 4,
	/* More than this is faster without the buffer. */
	BYTES_MAX = 1024,
};

static always_inline void move_u64(uint8_t *to, uint8_t *from)
{
	const uint64_t zero = 0;

	__builtin_memcpy(to, from, sizeof(uint64_t));
	__builtin_memcpy(from, &zero, sizeof(uint64_t));
}

static always_inline void move_u32(uint8_t *to, uint8_t *from)
{
	const uint32_t zero = 0;

	__builtin_memcpy(to, from, sizeof(uint32_t));
	__builtin_memcpy(from, &zero, sizeof(uint32_t));
}

/*
 * Copies and erases, in words because the string instructions take 10 ns to start. A compiler that
 * knows the size keeps a single number in a register, also where it would rather save space: on the
 * stack it would outlive the call.
 */
static always_inline void move(uint8_t *to, uint8_t *from, uint32_t size)
{
	if (size == sizeof(uint32_t)) {
		move_u32(to, from);
		return;
	}
	for (; size >= sizeof(uint64_t); size -= (uint32_t)sizeof(uint64_t)) {
		move_u64(to, from);
		to += sizeof(uint64_t);
		from += sizeof(uint64_t);
	}
	if (size >= sizeof(uint32_t)) {
		move_u32(to, from);
		to += sizeof(uint32_t);
		from += sizeof(uint32_t);
		size -= (uint32_t)sizeof(uint32_t);
	}
	while (size--) {
		*to++ = *from;
		*from++ = 0;
	}
}

/*
 * Draws from the buffer. If it returns false, do not use out: the buffer has too few bytes, was
 * wiped, or its age must be checked.
 */
static always_inline bool take(struct slot *slot, void *out, uint32_t size)
{
	struct slot_buffer *buffer = slot->buffer;
	/* Negative, if there are too few: both are below 2^31. */
	int32_t left = (int32_t)(slot->batch_left - size);

	if (unlikely(left < (int32_t)slot->batch_stop))
		return false;
	slot->batch_left = (uint32_t)left;
	move(out, buffer->bytes + left, size);
	drop_fence();
	return likely(READ_ONCE(buffer->batch_mark));
}

/* Nanoseconds since a fixed moment; 0 if the vDSO cannot tell. */
static uint64_t now(void)
{
	struct timespec time;

	if (!vgr_config.clock || vgr_config.clock(CLOCK_MONOTONIC_COARSE, &time))
		return 0;
	return (uint64_t)time.tv_sec * NSEC_PER_SEC + (uint64_t)time.tv_nsec;
}

int vgr_batch_fill(struct slot *slot)
{
	uint32_t size = vgr_slot_buffer_size();
	ssize_t got = 0;

	slot->batch_left = 0;
	slot->filled_at = now();
	WRITE_ONCE(slot->buffer->batch_mark, 1);
	signal_fence();
	for (uint32_t done = 0; done < size; done += (uint32_t)got) {
		got = vgr_draw_bulk(slot, slot->buffer->bytes + done, size - done, 0);
		/* A signal interrupted the system call. */
		if (got == -EINTR)
			got = 0;
		else if (got <= 0)
			return got ? (int)got : -EIO;
	}
	slot->batch_left = size;
	/* A buffer filled in advance may be used much later: check its age first. */
	slot->batch_stop = size;
	return 0;
}

/* Decides when to check the age again: not before size bytes are drawn. */
static void plan_next_look(struct slot *slot, uint64_t time, uint32_t size)
{
	uint32_t left = slot->batch_left, step = slot->age_step;

	if (time != slot->seen_at)
		step = size;
	else if (step < STEP_MAX)
		step *= 2;
	step = step < size ? size : step;
	slot->age_step = step;
	slot->seen_at = time;
	slot->batch_stop = left > step ? left - step : 0;
}

/* Returns 0 or a negative error number. */
static int take_or_fill(struct slot *slot, void *out, uint32_t size)
{
	uint64_t time = now();

	if (time - slot->filled_at > AGE_MAX)
		slot->batch_left = 0;
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		if (slot->batch_left < size || !READ_ONCE(slot->buffer->batch_mark)) {
			int err = vgr_batch_fill(slot);

			if (err)
				return err;
		}
		plan_next_look(slot, time, size);
		if (take(slot, out, size))
			return 0;
	}
	return -ENOMEM;
}

/* For a slot that will be given back, and its buffer discarded. Returns 0, or a failure. */
static int draw_once(struct slot *slot, void *out, uint32_t size)
{
	return draw(slot, out, size, 0) == (ssize_t)size ? 0 : -EIO;
}

/* On failure there is no way to tell the caller, and nothing random to return. */
static void fill_or_end(void *out, size_t len, ssize_t (*source)(void *, size_t, unsigned int))
{
	if (fill(out, len, source))
		__builtin_trap();
}

/* slot is claimed, or NULL if the thread's own is in use or does not exist yet. */
static noinline void get_slow(struct slot *slot, void *out, uint32_t size)
{
	int err = -ENOMEM;

	if (!slot)
		slot = vgr_thread_claim();
	if (slot) {
		err = slot->borrowed ? draw_once(slot, out, size) : take_or_fill(slot, out, size);
		vgr_thread_release(slot);
	}
	if (err)
		fill_or_end(out, size, sys_getrandom);
}

/* Returns true with the bytes at out, or false with them at late, so out may be a register. */
static always_inline bool get(void *out, void *late, uint32_t size)
{
	struct slot *slot = thread_claim_ready();

	if (likely(slot) && likely(take(slot, out, size))) {
		thread_release_ready(slot);
		return true;
	}
	get_slow(slot, late, size);
	return false;
}

api_inline uint32_t vgetrandom_batch_u32(void)
{
	uint32_t value = 0, late;

	if (likely(get(&value, &late, sizeof(value))))
		return value;
	value = late;
	WRITE_ONCE(late, 0);
	return value;
}

api_inline uint64_t vgetrandom_batch_u64(void)
{
	uint64_t value = 0, late;

	if (likely(get(&value, &late, sizeof(value))))
		return value;
	value = late;
	WRITE_ONCE(late, 0);
	return value;
}

api void vgetrandom_batch_bytes(void *buf, size_t len)
{
	if (len <= BYTES_MAX)
		get(buf, buf, (uint32_t)len);
	else
		fill_or_end(buf, len, vgetrandom);
}
