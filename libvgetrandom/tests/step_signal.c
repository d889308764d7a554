// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A signal comes at every instruction, and its handler draws too. Another signal interrupts that
 * handler in turn. Usage: step_signal [all] [PATH...]
 */
#include <signal.h>

#include "step_paths.h"

static void draw_in_between(int signal)
{
	(void)signal;
	draw_all(&shared->drawn);
}

/* The second comes while the first handler, or the call, is anywhere in the same path. */
static void interrupt_twice(pid_t pid, const struct trace *trace, size_t index)
{
	uintptr_t pc = trace->pc[index * 7919 % trace->count];

	stepper_signal(SIGUSR1);
	stepper_run_to_mark_by(pid, pc, SIGUSR2, 1);
}

int main(int argc, char **argv)
{
	static const struct event event = {
		.handler = draw_in_between,
		.inject = interrupt_twice,
		.slots = 2,
	};

	paths_prepare();
	step_paths(argc, argv, &event);
	return 0;
}
