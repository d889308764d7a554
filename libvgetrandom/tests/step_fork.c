// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A signal handler forks at every instruction. Parent and copy continue with the interrupted call,
 * and draw more. Usage: step_fork [all] [PATH...]
 *
 * A number that was drawn before the fork is the same in both, because the fork also copies
 * registers and the caller's buffer. So every call has a last check whether what it is about to
 * return is still its own, and does not notice a fork after that. The test checks how short this
 * tail is: as long as that of the vDSO function alone, plus the way back from there.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vgetrandom.h>

#include "check.h"
#include "config.h"
#include "step_paths.h"
#include "vdso.h"

enum { INDEX_MAX = 1 << 18 };

/* Instructions from the last check until the caller has the number, minus the vDSO's. */
#ifdef __OPTIMIZE__
enum { OWN_TAIL_MAX = 40 };
#else
enum { OWN_TAIL_MAX = 80 };
#endif

#pragma weak _Fork

static pid_t fork_by_libc(void)
{
	return _Fork ? _Fork() : fork();
}

static pid_t fork_by_clone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static pid_t (*const ways[])(void) = { fork, fork_by_libc, fork_by_clone };

static void fork_in_between(int signal)
{
	pid_t pid = ways[shared->kind % 3]();

	(void)signal;
	check(pid >= 0, "no fork");
	if (!pid)
		path_is_copy();
	draw_all(pid ? &shared->drawn : &shared->copy_drawn);
}

/* The child draws in the memory of the parent, which waits. */
static void vfork_in_between(int signal)
{
	pid_t pid = vfork();

	(void)signal;
	check(pid >= 0, "no vfork");
	if (!pid) {
		draw_all(&shared->drawn);
		_exit(EXIT_SUCCESS);
	}
	draw_all(&shared->drawn);
}

static void inject(pid_t pid, const struct trace *trace, size_t index)
{
	(void)trace;
	shared->kind = (unsigned int)index;
	stepper_signal(SIGUSR1);
	stepper_run_to_mark(pid);
}

enum seen {
	NOT_STOPPED_AT,
	DIFFERENT,
	SAME,
};

static unsigned char seen[INDEX_MAX];

static void note(const struct trace *trace, size_t index)
{
	(void)trace;
	check(index < INDEX_MAX, "longer than expected");
	check(shared->copy_drawn.count, "there was no copy");
	seen[index] = interrupted_same() ? SAME : DIFFERENT;
}

/* The first instruction of the tail; count if there is none. */
static size_t find_tail(size_t count)
{
	size_t tail = count;

	for (size_t i = 0; i < count; i++) {
		if (seen[i] == SAME && tail == count)
			tail = i;
		check(seen[i] != DIFFERENT || tail == count,
		      "a fork at %zu gives parent and child the same, at %zu it does not", tail, i);
	}
	return tail;
}

/* The index after the last instruction of the vDSO. */
static size_t vdso_end(const struct trace *trace)
{
	uintptr_t vdso = (uintptr_t)vgr_vdso_image();
	size_t size = vgr_vdso_size(vgr_vdso_image()), end = trace->count;

	while (end && trace->pc[end - 1] - vdso >= size)
		end--;
	return end;
}

/* Instructions of the vDSO function alone, from its last check to its end. */
static size_t vdso_tail;

static void measure_vdso(const struct path *path, const struct trace *trace)
{
	size_t tail = find_tail(trace->count);

	(void)path;
	check(tail < vdso_end(trace), "the vDSO function looks after it has returned");
	vdso_tail = vdso_end(trace) - tail;
	printf("the vDSO function's tail: %zu instructions\n", vdso_tail);
	memset(seen, 0, sizeof(seen));
}

static void check_tail(const struct path *path, const struct trace *trace)
{
	size_t tail = find_tail(trace->count), end = trace->count, max = OWN_TAIL_MAX;

	memset(seen, 0, sizeof(seen));
	if (!path->len)
		return;
	check(tail < end, "a fork after the call does not give parent and child the same");
	printf("%s: tail of %zu instructions\n", path->name, end - tail);
	/* Otherwise the library checked after the vDSO function did. */
	if (tail < vdso_end(trace))
		max += vdso_tail;
	check(end - tail <= max, "the tail is longer than %zu", max);
}

enum {
	/* More than one key expands to. */
	LONG = 70000,
};

/* The long draws of parent and copy. */
static uint8_t (*long_draws)[LONG];
static volatile bool is_copy;

/* Forks when the second key is about to be expanded: the first part is complete. */
static void fork_at_second(int signal)
{
	static int times;

	(void)signal;
	if (++times < 2 || fork())
		return;
	stepper_untraced();
	is_copy = true;
}

static void draw_long(void)
{
	static uint8_t bytes[LONG];

	signal(SIGUSR1, fork_at_second);
	check(!vgetrandom_prewarm(), "no prewarm");
	stepper_mark();
	check(vgetrandom(bytes, LONG, 0) == LONG, "not all of it");
	stepper_mark();
	memcpy(long_draws[is_copy], bytes, LONG);
	while (wait(NULL) > 0)
		;
	_exit(EXIT_SUCCESS);
}

/* Until its end, a long call shares none of its parts. */
static void check_long(void)
{
	static const uint8_t nothing[LONG];
	pid_t pid;

	long_draws =
		mmap(NULL, 2 * LONG, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	check(long_draws != MAP_FAILED, "no memory");
	pid = stepper_start(draw_long);
	stepper_run_to_mark_by(pid, (uintptr_t)vgr_config.chacha20->expand, SIGUSR1, 2);
	check(stepper_end(pid) == EXIT_SUCCESS, "the child failed");
	if (!memcmp(long_draws[1], nothing, LONG)) {
		printf("long: no breakpoints here\n");
		return;
	}
	for (size_t at = 0; at + 8 <= LONG; at += 8)
		check(memcmp(long_draws[0] + at, long_draws[1] + at, 8) != 0, "byte %zu", at);
}

int main(int argc, char **argv)
{
	static struct event event = {
		.handler = fork_in_between,
		.inject = inject,
		.after = note,
		.after_all = measure_vdso,
		.slots = 1,
	};

	paths_prepare();
	step_path(&path_vdso, &event, false);
	event.after_all = check_tail;
	step_paths(argc, argv, &event);
	check_long();
	event = (struct event){ .handler = vfork_in_between, .inject = inject, .slots = 1 };
	step_paths(argc, argv, &event);
	return 0;
}
