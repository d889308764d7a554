// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A signal handler jumps out of the library at every instruction. The thread must be back on the
 * fast path at once, at the cost of at most one more slot. glibc 2.41, whose threads have one state
 * each, makes system calls from then on, because the state stays marked as in use.
 *
 * Then the test jumps 10,000 times from one place, as a program that catches faults does. Usage:
 * step_longjmp [all] [PATH...]
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vgetrandom.h>

#include "check.h"
#include "step_paths.h"
#include "thread.h"

enum {
	JUMPS = 10000,
	PREWARMED_SLOTS = 4,
	PAGE = 4096,
	/* During a hundred draws. */
	RESEEDS_MAX = 1,
	/* In pages: less than a chunk of the pool. */
	GROWTH_MAX = 64,
};

static void leave(int signal)
{
	(void)signal;
	path_leave();
}

static void inject(pid_t pid, const struct trace *trace, size_t index)
{
	(void)trace;
	(void)index;
	stepper_signal(SIGUSR1);
	stepper_run_to_mark(pid);
}

static sigjmp_buf landing;
static void *nowhere;

static void catch_fault(int signal)
{
	(void)signal;
	siglongjmp(landing, 1);
}

/* A fault leaves each call, because it cannot write what it draws. */
static void draw_nowhere(int i)
{
	if (sigsetjmp(landing, 1))
		return;
	if (i % 3 == 0)
		vgetrandom(nowhere, 16, 0);
	else if (i % 3 == 1)
		vgetrandom(nowhere, 300, 0);
	else
		vgetrandom_batch_bytes(nowhere, 16);
	check(false, "could write to memory that is protected");
}

static void *jump_often(void *unused)
{
	uint8_t bytes[16];
	unsigned int owned = 0;

	check(!vgetrandom_prewarm(), "no prewarm");
	for (int i = 0; i < JUMPS; i++) {
		draw_nowhere(i);
		check(vgetrandom(bytes, sizeof(bytes), 0) == sizeof(bytes), "after jump %d", i);
	}
	for (const struct slot *slot = vgr_thread.owned; slot; slot = slot->next)
		owned++;
	check(owned <= JUMPS + PREWARMED_SLOTS, "%u slots", owned);
	stepper_mark();
	for (int i = 0; i < 100; i++) {
		vgetrandom(bytes, sizeof(bytes), 0);
		vgetrandom_batch_u64();
	}
	stepper_mark();
	return unused;
}

/* The size of the address space, in pages. */
static long own_size(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	long pages;

	check(file && fscanf(file, "%ld", &pages) == 1, "no /proc");
	fclose(file);
	return pages;
}

static void run_thread(void *(*function)(void *))
{
	pthread_t thread;

	check(!pthread_create(&thread, NULL, function, NULL), "no thread");
	check(!pthread_join(thread, NULL), "no thread");
}

static void prepare_jumps(void)
{
	struct sigaction action = { .sa_handler = catch_fault };

	nowhere = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(nowhere != MAP_FAILED, "no memory");
	check(!sigaction(SIGSEGV, &action, NULL), "no handler");
}

static void jump_traced(void)
{
	stepper_mark();
	prepare_jumps();
	jump_often(NULL);
	/* From now on, use slots that jumps have left. */
	vgetrandom_release();
	jump_often(NULL);
	_exit(EXIT_SUCCESS);
}

static void check_many_jumps(void)
{
	pid_t pid = stepper_start(jump_traced);

	for (int i = 0; i < 2; i++) {
		unsigned int calls;

		stepper_run_to_mark(pid);
		calls = stepper_count_system_calls(pid);
		check(calls <= RESEEDS_MAX, "%u system calls after the last jump", calls);
	}
	check(stepper_end(pid) == EXIT_SUCCESS, "the child failed");
}

/* Slots that jumps left busy go to the next thread. */
static void check_given_back(void)
{
	long before;

	prepare_jumps();
	run_thread(jump_often);
	before = own_size();
	run_thread(jump_often);
	check(own_size() - before < GROWTH_MAX, "%ld pages more", own_size() - before);
}

int main(int argc, char **argv)
{
	static const struct event event = {
		.handler = leave,
		.inject = inject,
		.slots = 1,
		.leaves = true,
	};

	paths_prepare();
	step_paths(argc, argv, &event);
	check_many_jumps();
	check_given_back();
	return 0;
}
