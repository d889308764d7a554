// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Description: the batch does not use old numbers: neither those left when a program continues
 * after a pause, nor those that a prewarm made long ago.
 */
#include <stdbool.h>
#include <vgetrandom.h>

#include "check.h"
#include "config.h"
#include "thread.h"

enum {
	NSEC_PER_SEC = 1000000000,
	/* Longer than a buffer may last. */
	PAUSE = 5,
	/* At most so many bytes are given without a look at the clock. */
	LOOK_MAX = 512,
};

static time_t seconds = 1000;
static long nanoseconds;

static long clock_of_test(clockid_t clock, struct timespec *now)
{
	check(clock == CLOCK_MONOTONIC_COARSE, "another clock");
	*now = (struct timespec){ .tv_sec = seconds, .tv_nsec = nanoseconds };
	return 0;
}

static long clock_that_fails(clockid_t clock, struct timespec *now)
{
	(void)clock, (void)now;
	return -1;
}

static void check_filled_now(const char *when)
{
	uint64_t filled_at;

	(void)vgetrandom_batch_u64();
	filled_at = vgr_thread.ready->filled_at;
	check(filled_at == (uint64_t)seconds * NSEC_PER_SEC, "%s: %zd s old", when,
	      (ssize_t)seconds - (ssize_t)(filled_at / NSEC_PER_SEC));
}

/* Whether the next number comes from a new buffer, if the draw checks the age. */
static bool next_is_new(void)
{
	uint32_t left = vgr_thread.ready->batch_left;

	check(left > sizeof(uint64_t), "%u bytes left", left);
	vgr_thread.ready->batch_stop = left;
	(void)vgetrandom_batch_u64();
	return vgr_thread.ready->batch_left > left;
}

static void check_no_byte_is_left(void)
{
	struct slot *slot = vgr_thread.ready;
	uint8_t byte;

	seconds += PAUSE;
	slot->batch_stop = slot->batch_left;
	vgetrandom_batch_bytes(&byte, sizeof(byte));
	check(slot->batch_left == vgr_slot_buffer_size() - sizeof(byte), "%u bytes left",
	      slot->batch_left);
	/* So that the next refill shows. */
	vgetrandom_batch_u64();
	vgetrandom_batch_u64();
}

/* A buffer lasts a second, and no longer. */
static void check_limit(void)
{
	check_filled_now("before");
	seconds += 1;
	check(!next_is_new(), "after a second");
	nanoseconds = 1;
	check(next_is_new(), "after more than a second");
	check(!next_is_new(), "at once");
	nanoseconds = 0;
	check_no_byte_is_left();
}

/* Without a clock there is no age. */
static void check_without_clock(void)
{
	vgr_thread.ready->filled_at = 0;
	vgr_config.clock = clock_that_fails;
	check(!next_is_new(), "the clock fails");
	vgr_config.clock = NULL;
	check(!next_is_new(), "there is no clock");
}

/*
 * The age is checked at each draw while the clock ticks, and else after twice as many bytes as
 * before, but no more than the limit.
 */
static void check_looks(void)
{
	const struct slot *slot = vgr_thread.ready;
	uint32_t expected = sizeof(uint64_t);

	seconds += PAUSE;
	check(next_is_new(), "after a pause");
	for (int i = 0; i < 10; i++) {
		nanoseconds++;
		(void)vgetrandom_batch_u64();
		check(slot->batch_left == slot->batch_stop, "%u bytes without a look",
		      slot->batch_left - slot->batch_stop);
	}
	for (int looks = 0; looks < 8; looks++) {
		uint32_t left = slot->batch_left;

		(void)vgetrandom_batch_u64();
		expected = 2 * expected < LOOK_MAX ? 2 * expected : LOOK_MAX;
		check(left - slot->batch_stop == expected, "%u bytes without a look, not %u",
		      left - slot->batch_stop, expected);
		while (slot->batch_left >= slot->batch_stop + sizeof(uint64_t))
			(void)vgetrandom_batch_u64();
	}
}

int main(void)
{
	if (vgetrandom_status() != VGETRANDOM_VDSO)
		cannot_run("%s", vgetrandom_status_text(vgetrandom_status()));
	vgr_config.clock = clock_of_test;
	check(vgetrandom_prewarm() == 0, "prewarm");
	seconds += PAUSE;
	check_filled_now("after a prewarm");
	seconds += PAUSE;
	check_filled_now("after a draw");
	check_limit();
	check_looks();
	check_without_clock();
	return 0;
}
