// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Description: the batch does not use old numbers: neither those left when a program continues
 * after a pause, nor those that a prewarm made long ago.
 */
#include <vgetrandom.h>

#include "check.h"
#include "config.h"
#include "thread.h"

enum {
	NSEC_PER_SEC = 1000000000,
	/* Longer than a buffer may last. */
	PAUSE = 5,
};

static time_t seconds = 1000;

static long clock_of_test(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = (struct timespec){ .tv_sec = seconds };
	return 0;
}

static void check_filled_now(const char *when)
{
	uint64_t filled_at;

	(void)vgetrandom_batch_u64();
	filled_at = vgr_thread.ready->filled_at;
	check(filled_at == (uint64_t)seconds * NSEC_PER_SEC, "%s: %zd s old", when,
	      (ssize_t)seconds - (ssize_t)(filled_at / NSEC_PER_SEC));
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
	return 0;
}
