// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The kernel takes the thread's pages away at every instruction, as it may when memory is short, up
 * to three times at the same one, so that it interrupts the repair again. The test does this once
 * by asking the kernel, and once by hand, which looks the same and is certain to happen. Usage:
 * step_drop [all] [PATH...]
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"
#include "step_paths.h"
#include "thread.h"

enum {
	TIMES = 3,
};

static void drop(int signal)
{
	(void)signal;
	for (const struct slot *slot = vgr_thread.owned; slot; slot = slot->next) {
		bool marked = slot->buffer->batch_mark;

		madvise(slot->state, SLOT_PAGE_SIZE, MADV_PAGEOUT);
		shared->asked += marked;
		shared->dropped += marked && !READ_ONCE(slot->buffer->batch_mark);
	}
}

static void wipe(int signal)
{
	(void)signal;
	for (const struct slot *slot = vgr_thread.owned; slot; slot = slot->next)
		memset(slot->state, 0, SLOT_PAGE_SIZE);
}

static void inject(pid_t pid, const struct trace *trace, size_t index)
{
	stepper_signal(SIGUSR1);
	stepper_run_to_mark_by(pid, trace->pc[index], SIGUSR1, TIMES - 1);
}

int main(int argc, char **argv)
{
	static struct event event = { .handler = wipe, .inject = inject, .cold = true };

	paths_prepare();
	step_paths(argc, argv, &event);
	event.handler = drop;
	step_paths(argc, argv, &event);
	printf("%u of %u pages were dropped when asked for\n", shared->dropped, shared->asked);
	return 0;
}
