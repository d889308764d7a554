// SPDX-License-Identifier: MIT OR Apache-2.0
/* No memory for a state, for as long as a limit holds; and all memory locked. */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <vgetrandom.h>

#include "check.h"
#include "config.h"
#include "sandbox.h"
#include "thread.h"

enum {
	BYTES_MAX = 4096,
	/* More than the calls after which the library tries again to map memory. */
	CALLS = 1000,
};

static void draw_some(int calls)
{
	uint8_t bytes[BYTES_MAX] = { 0 };

	for (int i = 0; i < calls; i++) {
		check(vgetrandom(bytes, 16, 0) == 16, "16 bytes");
		check(vgetrandom_batch_u64(), "zero");
	}
	check(vgetrandom(bytes, sizeof(bytes), 0) == sizeof(bytes), "%zu bytes", sizeof(bytes));
	check(memcmp(bytes, bytes + 8, 8), "nothing was written");
}

static void draw_once(void)
{
	draw_some(1);
}

/* With 0, nothing more can be mapped. */
static void set_limit(rlim_t size)
{
	struct rlimit limit;

	check(!getrlimit(RLIMIT_AS, &limit), "no limit");
	limit.rlim_cur = size;
	check(!setrlimit(RLIMIT_AS, &limit), "no limit");
}

static void check_without_memory(void)
{
	set_limit(0);
	draw_some(CALLS);
	check(vgetrandom_status() == VGETRANDOM_NO_MEMORY, "status %d", vgetrandom_status());
	check(vgetrandom_prewarm() == -ENOMEM, "prewarm did not tell");
	check(vgr_thread.ready == &vgr_no_slot, "there is a slot");
	set_limit(RLIM_INFINITY);
}

static void recovers(void)
{
	check_without_memory();
	draw_some(CALLS);
	check(vgetrandom_status() == VGETRANDOM_VDSO, "status %d", vgetrandom_status());
	check(vgr_thread.ready != &vgr_no_slot, "there is no slot");
}

static void recovers_by_prewarm(void)
{
	check_without_memory();
	check(!vgetrandom_prewarm(), "prewarm");
	check(vgetrandom_status() == VGETRANDOM_VDSO, "status %d", vgetrandom_status());
	draw_some(1);
}

/* The thread has everything it needs; a call that wanted more does not change this. */
static void keeps_what_it_has(void)
{
	struct slot *slot, *newest = NULL;

	draw_some(1);
	set_limit(0);
	while ((slot = vgr_thread_claim()))
		newest = slot;
	check(vgr_thread.no_memory, "there is memory");
	vgr_thread_release(newest);
	check(vgetrandom_status() == VGETRANDOM_VDSO, "status %d", vgetrandom_status());
}

static void draws_locked(void)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		cannot_run("mlockall: %s", strerror(errno));
	check(!vgetrandom_prewarm(), "no prewarm");
	draw_some(CALLS);
	check(vgetrandom_status() == VGETRANDOM_VDSO, "status %d", vgetrandom_status());
	check(!run_alone(draw_once), "not in a child");
}

int main(void)
{
	int status;

	vgr_config_need();
	if (!vgr_config.vdso)
		cannot_run("the kernel has no vDSO getrandom");
	check(!run_alone(recovers), "draws");
	check(!run_alone(recovers_by_prewarm), "prewarm");
	check(!run_alone(keeps_what_it_has), "nested");
	status = run_alone(draws_locked);
	check(WIFEXITED(status), "wait status %#x", status);
	return WEXITSTATUS(status);
}
