// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Description: a batch gives its bytes from the end to the beginning, erases what it gave, and
 * gives none of it to another thread. The test reads the buffer before and after each draw.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <vgetrandom.h>

#include "batch.h"
#include "check.h"
#include "config.h"
#include "pool.h"
#include "thread.h"

enum {
	BYTES_MAX = 1024,
	DRAWS = 4000,
};

static long stopped_clock(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = (struct timespec){ .tv_sec = 1000 };
	return 0;
}

static vdso_getrandom_fn *real_vdso;
static uint8_t before[SLOT_PAGE_SIZE];
static uint32_t left_before;

static void look(void)
{
	const struct slot *slot = vgr_thread.ready;

	left_before = slot->batch_left;
	memcpy(before, slot->buffer->bytes, vgr_slot_buffer_size());
}

static void check_erased(void)
{
	const struct slot *slot = vgr_thread.ready;

	for (uint32_t at = slot->batch_left; at < vgr_slot_buffer_size(); at++)
		check(!slot->buffer->bytes[at], "byte %u was given, and is still there", at);
}

/* out is what was drawn after look(). */
static void check_taken(const void *out, uint32_t size)
{
	const struct slot *slot = vgr_thread.ready;
	uint32_t left = slot->batch_left;

	check_erased();
	/* Too few were left, and the draw made new ones. */
	if (left_before < size) {
		check(left == vgr_slot_buffer_size() - size, "%u bytes left", left);
		return;
	}
	check(left == left_before - size, "%u bytes left of %u", left, left_before);
	check(!memcmp(out, before + left, size), "%u other bytes than those erased", size);
	check(!memcmp(before, slot->buffer->bytes, left), "bytes to come have changed");
}

static void draw_u32(void)
{
	uint32_t value;

	look();
	value = vgetrandom_batch_u32();
	check_taken(&value, sizeof(value));
}

static void draw_u64(void)
{
	uint64_t value;

	look();
	value = vgetrandom_batch_u64();
	check_taken(&value, sizeof(value));
}

/* Exactly size bytes are written. */
static void draw_bytes(uint32_t size)
{
	uint8_t out[BYTES_MAX + 16];

	memset(out, 0xa5, sizeof(out));
	look();
	vgetrandom_batch_bytes(out + 8, size);
	check_taken(out + 8, size);
	for (int i = 0; i < 8; i++)
		check(out[i] == 0xa5 && out[8 + size + (uint32_t)i] == 0xa5,
		      "bytes around %u are written to", size);
}

/* More than the limit does not come from the buffer. */
static void check_large(void)
{
	static uint8_t out[BYTES_MAX + 1];
	uint32_t left;

	draw_u64();
	left = vgr_thread.ready->batch_left;
	vgetrandom_batch_bytes(out, sizeof(out));
	check(vgr_thread.ready->batch_left == left, "%zu bytes come from the buffer", sizeof(out));
}

static void check_given_back(const struct slot *slot)
{
	check(!slot->batch_left, "%u bytes are left for the next thread", slot->batch_left);
}

static void *draw_and_end(void *unused)
{
	struct slot *slot;

	(void)unused;
	(void)vgetrandom_batch_u64();
	slot = vgr_thread.ready;
	check(slot->batch_left, "nothing is left");
	return slot;
}

static void check_end_of_thread(void)
{
	pthread_t draws;
	void *slot;

	check(!pthread_create(&draws, NULL, draw_and_end, NULL), "no thread");
	check(!pthread_join(draws, &slot), "no thread");
	check_given_back(slot);
}

/* A call that was left for good may have left anything in its slot. */
static void check_busy_slot_is_wiped(void)
{
	struct slot *slot = vgr_pool_take(), *next = vgr_pool_take();
	const uint8_t *pages = slot->state;

	check(next->state == pages + SLOT_PAGE_SIZE, "no neighbours");
	memset(slot->state, 0xa5, SLOT_PAGE_SIZE);
	memset(next->state, 0xa5, SLOT_PAGE_SIZE);
	slot->busy = 1;
	vgr_pool_give(slot);
	for (int i = 0; i < 2 * SLOT_PAGE_SIZE; i++)
		check(pages[i] == (i < SLOT_PAGE_SIZE ? 0 : 0xa5), "byte %d is %#x", i, pages[i]);
	next->busy = 1;
	vgr_pool_give(next);
}

static ssize_t fail_to_draw(void *buf, size_t len, unsigned int flags, void *state,
			    size_t state_size)
{
	(void)buf, (void)len, (void)flags, (void)state, (void)state_size;
	return -EPERM;
}

/* What is left of a buffer that was wiped is not there when the next fill fails, either. */
static void check_failed_fill(void)
{
	struct slot *slot = vgr_thread.ready;

	draw_u64();
	memset(slot->state, 0, SLOT_PAGE_SIZE);
	vgr_config.vdso = fail_to_draw;
	check(vgetrandom_batch_u64(), "zero");
	check(!slot->batch_left, "%u bytes left", slot->batch_left);
	check(vgetrandom_batch_u64(), "zero, of the buffer that was wiped");
	vgr_config.vdso = real_vdso;
}

/* A few bytes of those asked for are no number. */
static ssize_t draw_short(void *buf, size_t len, unsigned int flags, void *state, size_t state_size)
{
	(void)flags, (void)state, (void)state_size;
	memset(buf, 0, len);
	return (ssize_t)len - 1;
}

static void *borrow_short_numbers(void *unused)
{
	uint8_t bytes[16] = { 0 };

	vgr_thread.mode = THREAD_BORROWS;
	vgr_config.vdso = draw_short;
	check(vgetrandom_batch_u64(), "a number of 7 bytes");
	check(vgetrandom_batch_u32() || vgetrandom_batch_u32(), "numbers of 3 bytes");
	vgetrandom_batch_bytes(bytes, sizeof(bytes));
	check(memcmp(bytes, bytes + 8, 8), "nothing was written");
	vgr_config.vdso = real_vdso;
	return unused;
}

/* A thread that borrows has no buffer to fall back on. */
static void check_borrowed_short(void)
{
	pthread_t borrows;

	check(!pthread_create(&borrows, NULL, borrow_short_numbers, NULL), "no thread");
	check(!pthread_join(borrows, NULL), "no thread");
}

/* A buffer that is wiped again and again must not be used, nor waited for. */
static unsigned int fills;

static ssize_t wipe_while_drawing(void *buf, size_t len, unsigned int flags, void *state,
				  size_t state_size)
{
	(void)state, (void)state_size, (void)flags;
	memset(buf, 1, len);
	vgr_thread.ready->buffer->batch_mark = 0;
	fills++;
	return (ssize_t)len;
}

static void check_wiped_buffer(void)
{
	static const uint32_t start[4];
	static const uint64_t wiped;
	static uint8_t made[SLOT_PAGE_SIZE];
	uint8_t key[CHACHA20_KEY_SIZE];
	uint64_t value;

	memset(key, 1, sizeof(key));
	vgr_config.chacha20->expand(made, vgr_slot_buffer_size(), key, start);
	draw_u64();
	vgr_config.vdso = wipe_while_drawing;
	vgr_thread.ready->batch_left = 0;
	value = vgetrandom_batch_u64();
	check(fills > 1 && fills < 100, "%u attempts", fills);
	check(value != wiped, "zero");
	for (size_t at = 0; at + sizeof(value) <= vgr_slot_buffer_size(); at++)
		check(memcmp(&value, made + at, sizeof(value)) != 0, "of a buffer that was wiped");
}

int main(void)
{
	if (vgetrandom_status() != VGETRANDOM_VDSO)
		cannot_run("%s", vgetrandom_status_text(vgetrandom_status()));
	real_vdso = vgr_config.vdso;
	vgr_config.clock = stopped_clock;
	check(!vgetrandom_prewarm(), "no prewarm");
	check(!((uintptr_t)vgr_thread.ready->buffer->bytes % 64), "the buffer is not aligned");
	for (uint32_t i = 0; i < DRAWS; i++) {
		draw_u32();
		draw_u64();
		draw_bytes(i % 64);
	}
	for (uint32_t size = 0; size <= BYTES_MAX; size += 31)
		draw_bytes(size);
	draw_bytes(BYTES_MAX);
	check_large();
	check_end_of_thread();
	check_busy_slot_is_wiped();
	check_failed_fill();
	check_borrowed_short();
	check_wiped_buffer();
	return 0;
}
