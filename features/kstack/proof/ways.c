// SPDX-License-Identifier: GPL-2.0
/*
 * Description: collects stack positions of tasks that differ from those of the other
 * attacks: they ask by another system call than ioctl(), for another user than root, are
 * traced, or began or went on in another way than by a fork.
 *
 * Usage: ways CALLS (in each way)
 *        ways execd (what a task of the way of this name runs)
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "probe.h"
#include "record.h"
#include "side_by_side.h"

enum {
	/* Positions that each task draws, where a way is how tasks begin. */
	EACH = 64,
	/* Enough of a task to see whether they are as even as claimed. */
	MANY = 512,
	OTHER_USER = 1000,
};

static char bytes[PROBE_MAX_POSITION];

static long by_ioctl(int probe)
{
	return ioctl(probe, KSTACK_PROBE_POSITION);
}

/* For all bytes: the kernel takes the position for the number of those that were read. */
static long by_read(int probe)
{
	return read(probe, bytes, sizeof(bytes));
}

static long by_write(int probe)
{
	return write(probe, bytes, sizeof(bytes));
}

static long by_lseek(int probe)
{
	return lseek(probe, 0, SEEK_SET);
}

static void draw(int probe, long (*ask)(int), long *to, size_t calls)
{
	for (size_t i = 0; i < calls; i++)
		to[i] = probe_checked(ask(probe));
}

static void become_other_user(void)
{
	if (setgid(OTHER_USER) || setuid(OTHER_USER))
		fail("another user");
}

/* In a child of a task of that user. */
static void draw_as_other_user(int probe, long *to, size_t calls)
{
	pid_t user = fork_bare(), task;

	if (user == 0) {
		become_other_user();
		task = fork_bare();
		if (task == 0)
			draw(probe, by_ioctl, to, calls);
		else
			finish_task(task);
		_exit(0);
	}
	finish_task(user);
}

/* @before: what each task does first; NULL: nothing */
static void draw_in_children(int probe, long *to, size_t calls, size_t each, void (*before)(void))
{
	for (size_t i = 0; i < calls; i += each) {
		pid_t task = fork_bare();

		if (task == 0) {
			if (before)
				before();
			draw(probe, by_ioctl, to + i, each);
			_exit(0);
		}
		finish_task(task);
	}
}

static void draw_after_change(int probe, long *to, size_t calls)
{
	draw_in_children(probe, to, calls, EACH, become_other_user);
}

static void draw_in_forked(int probe, long *to, size_t calls)
{
	draw_in_children(probe, to, calls, MANY, NULL);
}

/* The tracer stops the task before and after each call. */
static void draw_traced(int probe, long *to, size_t calls)
{
	pid_t task = fork_bare();
	int status;

	if (task == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) || raise(SIGSTOP))
			fail("ptrace");
		draw(probe, by_ioctl, to, calls);
		_exit(0);
	}
	while (status = wait_for(task), !WIFEXITED(status) && !WIFSIGNALED(status))
		if (ptrace(PTRACE_SYSCALL, task, NULL, NULL))
			fail("ptrace");
	expect_success(status);
}

struct threads_draw {
	int probe;
	long *to;
};

static void *draw_in_thread(void *argument)
{
	struct threads_draw *d = argument;

	draw(d->probe, by_ioctl, d->to, EACH);
	return NULL;
}

static void draw_in_threads(int probe, long *to, size_t calls)
{
	for (size_t i = 0; i < calls; i += EACH) {
		struct threads_draw d = { .probe = probe, .to = to + i };
		pthread_t thread;

		if (pthread_create(&thread, NULL, draw_in_thread, &d) || pthread_join(thread, NULL))
			fail("thread");
	}
}

/* In a function of its own, whose variables the child may change. */
static pid_t __attribute__((noinline)) vfork_to_draw(int probe, long *to)
{
	pid_t child = vfork();

	if (child < 0)
		fail("vfork");
	if (child == 0) {
		draw(probe, by_ioctl, to, EACH);
		_exit(0);
	}
	return child;
}

/* By turns the child of a vfork(), which has its parent's memory, and the parent. */
static void draw_in_vforked(int probe, long *to, size_t calls)
{
	for (size_t i = 0; i < calls; i += 2 * EACH) {
		pid_t child = vfork_to_draw(probe, to + i);

		draw(probe, by_ioctl, to + i + EACH, EACH);
		finish_task(child);
	}
}

/* By turns the parent and its child, both right after the child began. */
static void draw_in_namespaces(int probe, long *to, size_t calls)
{
	for (size_t i = 0; i < calls; i += 2 * EACH) {
		pid_t child = clone_bare(CLONE_NEWNS);

		draw(probe, by_ioctl, to + i + (child ? 0 : EACH), EACH);
		if (child == 0)
			_exit(0);
		finish_task(child);
	}
}

/* Before anything else, so that all programs have made as many system calls. */
static int draw_execd(void)
{
	long positions[EACH];

	draw(probe_open(), by_ioctl, positions, EACH);
	return write(STDOUT_FILENO, positions, sizeof(positions)) != sizeof(positions);
}

static void exec_into(int output)
{
	char *argv[] = { "ways", "execd", NULL }, *environment[] = { NULL };

	if (dup2(output, STDOUT_FILENO) < 0)
		fail("dup2");
	execve("/proc/self/exe", argv, environment);
	fail("execve");
}

static void draw_in_execd(int probe, long *to, size_t calls)
{
	int ends[2];

	(void)probe;
	if (pipe2(ends, O_CLOEXEC))
		fail("pipe");
	for (size_t i = 0; i < calls; i += EACH) {
		pid_t task = fork_bare();

		if (task == 0)
			exec_into(ends[1]);
		finish_task(task);
		if (read(ends[0], to + i, EACH * sizeof(*to)) != EACH * sizeof(*to))
			fail("positions of another program");
	}
	close(ends[0]);
	close(ends[1]);
}

static void do_nothing(int number)
{
	(void)number;
}

/* After the handler of a signal has returned. */
static void draw_after_signals(int probe, long *to, size_t calls)
{
	if (signal(SIGUSR1, do_nothing) == SIG_ERR)
		fail("signal");
	for (size_t i = 0; i < calls; i += EACH) {
		if (raise(SIGUSR1))
			fail("raise");
		draw(probe, by_ioctl, to + i, EACH);
	}
}

/*
 * @ask: the task itself draws by this system call
 * @draw: or how others do
 * @each: after so many positions another task draws, or the same begins again; 0: never
 */
static const struct way {
	const char *name;
	long (*ask)(int probe);
	void (*draw)(int probe, long *to, size_t calls);
	size_t each;
} ways[] = {
	{ "read", by_read, NULL, 0 },
	{ "write", by_write, NULL, 0 },
	{ "lseek", by_lseek, NULL, 0 },
	{ "user", NULL, draw_as_other_user, 0 },
	{ "became", NULL, draw_after_change, EACH },
	{ "traced", NULL, draw_traced, 0 },
	{ "forked", NULL, draw_in_forked, MANY },
	{ "thread", NULL, draw_in_threads, EACH },
	{ "vforked", NULL, draw_in_vforked, EACH },
	{ "namespaced", NULL, draw_in_namespaces, EACH },
	{ "execd", NULL, draw_in_execd, EACH },
	{ "signalled", NULL, draw_after_signals, EACH },
};

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static void play(int probe, const struct way *way, size_t calls)
{
	long *positions = shared_array(calls), *groups = array(calls);
	char name[64];

	if (way->ask)
		draw(probe, way->ask, positions, calls);
	else
		way->draw(probe, positions, calls);
	for (size_t i = 0; i < calls; i++)
		groups[i] = way->each ? (long)(i / way->each) : 0;
	snprintf(name, sizeof(name), "%s_position", way->name);
	print_samples(name, positions, calls);
	snprintf(name, sizeof(name), "%s_group", way->name);
	print_samples(name, groups, calls);
	free(groups);
	munmap(positions, calls * sizeof(*positions));
}

int main(int argc, char **argv)
{
	size_t calls;
	int probe;

	if (argc == 2 && !strcmp(argv[1], "execd"))
		return draw_execd();
	calls = samples_wanted(argc, argv) / MANY * MANY;
	probe = probe_open();
	/* Tasks that share a state show it under the same key. */
	stay_on_cpu(0);
	/* Or children print the parent's buffered output again. */
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	for (size_t i = 0; i < WAYS; i++)
		play(probe, &ways[i], calls);
	return 0;
}
