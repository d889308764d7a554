// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A signal comes at every instruction, and its handler draws too. Another signal interrupts that
 * handler in turn. Usage: step_signal [all] [PATH...]
 *
 * Then the test does at every instruction of a release what another thread may do meanwhile, and
 * where a child gives back what threads had that it lacks, what a child of its own may do.
 */
#include <signal.h>
#include <unistd.h>
#include <vgetrandom.h>

#include "pool_count.h"
#include "step_paths.h"
#include "thread.h"

enum {
	/* How often the library comes to the same place, if it is not in the loop that wipes. */
	VISITS_MAX = 4,
};

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

/* Never zero, as what a slot is given back with. */
static const struct slot in_use = { .busy = 1, .batch_left = 2, .taker = 3 };
static struct slot *held;
static bool disturbed;

/* The first free slot is the one that was given back last. */
static void hold_slot(int signal)
{
	(void)signal;
	held = vgr_pool_take();
	check(!held->busy, "a slot is busy when it comes from the pool");
	check(!held->batch_left, "%u bytes of another's are left", held->batch_left);
	held->busy = in_use.busy;
	held->batch_left = in_use.batch_left;
	held->taker = in_use.taker;
	held->next = NULL;
}

static void give_others(void)
{
	vgr_pool_give_others(in_use.taker);
}

static void give_others_and_hold_slot(int signal)
{
	give_others();
	hold_slot(signal);
}

/* How slots are given back, and what happens meanwhile. */
static void (*give)(void);
static void (*handler)(int signal);

static void give_all(void)
{
	struct sigaction action = { .sa_handler = handler };

	check(!sigaction(SIGUSR1, &action, NULL), "no handler");
	check(!vgetrandom_prewarm(), "no prewarm");
	/* One was left by a jump: that is wiped. */
	check(thread_claim_ready(), "no slot is idle");
	stepper_mark();
	give();
	stepper_mark();
	check(!held == !disturbed, "the signal did not come, or came too early");
	check(!held || (held->busy == in_use.busy && held->batch_left == in_use.batch_left &&
			held->taker == in_use.taker),
	      "the slot that the handler took is written to");
	pool_check_taken(disturbed);
	_exit(EXIT_SUCCESS);
}

/* Meanwhile a handler draws, and finds no idle slot: the thread keeps the one that it takes. */
static void release_all(void)
{
	struct sigaction action = { .sa_handler = draw_in_between };

	check(!sigaction(SIGUSR1, &action, NULL), "no handler");
	check(!vgetrandom_prewarm(), "no prewarm");
	for (struct slot *slot = vgr_thread.owned; slot; slot = slot->next)
		slot->busy = 1;
	stepper_mark();
	vgetrandom_release();
	stepper_mark();
	check(!shared->drawn.count == !disturbed, "the signal did not come, or came too early");
	vgetrandom_release();
	pool_check_taken(0);
	_exit(EXIT_SUCCESS);
}

static void check_giving_at(void (*child)(void), const struct trace *trace, size_t index)
{
	pid_t pid;

	shared->drawn.count = shared->drawn.used = 0;
	pid = stepper_start(child);
	check(stepper_run_to(pid, trace, index), "never at instruction %zu again", index);
	stepper_signal(SIGUSR1);
	stepper_run_to_mark(pid);
	check(stepper_end(pid) == EXIT_SUCCESS, "at instruction %zu", index);
}

static void check_giving(void (*child)(void))
{
	struct trace trace;
	pid_t pid;

	disturbed = false;
	shared->drawn.count = shared->drawn.used = 0;
	pid = stepper_start(child);
	stepper_record(pid, &trace);
	check(stepper_end(pid) == EXIT_SUCCESS, "undisturbed");
	disturbed = true;
	for (size_t i = 0; i < trace.count; i++) {
		if (trace.visit[i] <= VISITS_MAX)
			check_giving_at(child, &trace, i);
	}
	trace_free(&trace);
}

static void check_giving_all(void (*way)(void), void (*meanwhile)(int))
{
	give = way;
	handler = meanwhile;
	check_giving(give_all);
}

int main(int argc, char **argv)
{
	static const struct event event = {
		.handler = draw_in_between,
		.inject = interrupt_twice,
		.slots = 2,
		.returns = true,
	};

	paths_prepare();
	step_paths(argc, argv, &event);
	check_giving_all(vgetrandom_release, hold_slot);
	/* Each slot is another thread's there. */
	check_giving_all(give_others, give_others_and_hold_slot);
	check_giving(release_all);
	return 0;
}
