// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Description: no number comes twice among threads, parent and children of every kind, on all
 * paths.
 *
 * Children are made by fork, _Fork, clone with the parent's memory and without, vfork, and
 * posix_spawn; also while other threads draw, where the child then makes threads of its own; and
 * there are children of children. Each begins with the buffers that its parent has half drawn.
 *
 * Argument: the number of values, or "long" for 10^8. Default: 4 * 10^6.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "draws.h"
#include "sanitizers.h"
#include "values.h"

enum {
	VALUES = 4000000,
	VALUES_LONG = 100000000,
	/* Each process or thread draws this many times on all paths. */
	BURST = 150,
	THREADS = 4,
	GENERATIONS = 3,
	STACK = 1 << 18,
	/* The file descriptor by which a spawned program finds the values. */
	VALUES_FD = 100,
};

struct values {
	size_t wanted;
	_Atomic size_t count;
	uint64_t values[];
};

static struct values *shared;

/* Each burst reserves its place, because a child may end or be cloned at any moment. */
static void draw(int times)
{
	size_t first = atomic_fetch_add(&shared->count, (size_t)times * PATHS);

	if (first + (size_t)times * PATHS > shared->wanted) {
		/* Full: the last burst must not leave holes. */
		atomic_fetch_sub(&shared->count, (size_t)times * PATHS);
		return;
	}
	for (int i = 0; i < times; i++)
		draw_all_paths(shared->values + first + (size_t)i * PATHS);
}

static void *draw_in_thread(void *times)
{
	draw(*(const int *)times);
	return NULL;
}

static void start_threads(pthread_t threads[THREADS])
{
	static const int times = BURST;

	for (int i = 0; i < THREADS; i++)
		check(pthread_create(&threads[i], NULL, draw_in_thread, (void *)&times) == 0,
		      "no thread");
}

static void join_threads(const pthread_t threads[THREADS])
{
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void wait_for(pid_t child)
{
	int status;

	check(child > 0, "no child");
	check(waitpid(child, &status, __WALL) == child && status == 0, "status %x",
	      (unsigned int)status);
}

/* Parent and child draw at the same time, from states that are equal at first. */
static void after_fork(pid_t child)
{
	draw(BURST);
	if (child == 0)
		_exit(EXIT_SUCCESS);
	wait_for(child);
}

static void by_fork(void)
{
	after_fork(fork());
}

static void by__Fork(void)
{
	after_fork(_Fork());
}

static void by_clone(void)
{
	after_fork((pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL));
}

/* The child has the parent's memory, including thread-local data, while the parent waits. */
static void by_vfork(void)
{
	pid_t child = vfork();

	if (child == 0) {
		draw(BURST);
		_exit(EXIT_SUCCESS);
	}
	wait_for(child);
	draw(BURST);
}

static int draw_in_clone(void *unused)
{
	(void)unused;
	draw(BURST);
	return 0;
}

static void by_clone_vm(void)
{
	static char stack[STACK] __attribute__((aligned(64)));

	/* gcc 14's takes every clone() for a fork, and stops when the parent's memory is shared. */
	if (THREAD_SANITIZER)
		return;
	wait_for(clone(draw_in_clone, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD,
		       NULL));
	draw(BURST);
}

static void by_spawn(void)
{
	char *argv[] = { "processes_duplicates", "spawned", NULL };
	pid_t child;

	check(posix_spawn(&child, "/proc/self/exe", NULL, NULL, argv, NULL) == 0, "posix_spawn");
	wait_for(child);
}

/* Other threads draw during the fork. The child lacks them and makes its own. */
static void by_fork_among_threads(void)
{
	pthread_t threads[THREADS], of_child[THREADS];
	pid_t child;

	/* A thread that the child does not have may hold the sanitizers' locks. */
	if (THREAD_SANITIZER || ADDRESS_SANITIZER)
		return;
	start_threads(threads);
	child = fork();
	if (child == 0) {
		start_threads(of_child);
		draw(BURST);
		join_threads(of_child);
		_exit(EXIT_SUCCESS);
	}
	draw(BURST);
	join_threads(threads);
	wait_for(child);
}

static void by_generations(void)
{
	int generation = 0;
	pid_t child;

	do {
		child = fork();
		draw(BURST);
	} while (child == 0 && generation++ < GENERATIONS);
	if (child)
		wait_for(child);
	if (generation)
		_exit(EXIT_SUCCESS);
}

static void (*const ways[])(void) = {
	by_fork,        by__Fork, by_clone, by_vfork, by_clone_vm, by_spawn, by_fork_among_threads,
	by_generations,
};

/* Maps a file without a name, which a spawned program inherits. */
static void map_shared(size_t wanted)
{
	size_t size = sizeof(*shared) + wanted * sizeof(*shared->values);
	int fd = memfd_create("values", 0);

	check(fd >= 0 && dup2(fd, VALUES_FD) == VALUES_FD && ftruncate(fd, (off_t)size) == 0,
	      "memfd");
	shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, VALUES_FD, 0);
	check(shared != MAP_FAILED, "mmap");
	shared->wanted = wanted;
}

static int spawned(void)
{
	struct values *head = mmap(NULL, sizeof(*head), PROT_READ, MAP_SHARED, VALUES_FD, 0);

	check(head != MAP_FAILED, "mmap");
	shared = mmap(NULL, sizeof(*shared) + head->wanted * sizeof(*shared->values),
		      PROT_READ | PROT_WRITE, MAP_SHARED, VALUES_FD, 0);
	check(shared != MAP_FAILED, "mmap");
	draw(BURST);
	return 0;
}

/* Long-lived threads draw the rest, after many forks and bursts. */
static void *draw_the_rest(void *until)
{
	const size_t *end = until;

	while (atomic_load(&shared->count) + (size_t)BURST * PATHS <= *end)
		draw(BURST);
	return NULL;
}

static void run_long_threads(size_t end)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		check(pthread_create(&threads[i], NULL, draw_the_rest, &end) == 0, "no thread");
	join_threads(threads);
}

int main(int argc, char **argv)
{
	const char *form = argc > 1 ? argv[1] : "";
	size_t wanted = argc > 1 ? strtoul(form, NULL, 10) : VALUES;
	int rounds = 0;

	if (!strcmp(form, "spawned"))
		return spawned();
	if (!strcmp(form, "long"))
		wanted = VALUES_LONG;
	map_shared(wanted);
	/* Short-lived tasks draw the first half, long-lived threads the second. */
	for (; atomic_load(&shared->count) < wanted / 2; rounds++) {
		for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
			/* Leaves a different part of a batch each time. */
			draw(1 + rounds % BURST);
			ways[i]();
		}
	}
	run_long_threads(wanted);
	printf("%d rounds of %zu ways to make a child: %s\n", rounds, sizeof(ways) / sizeof(*ways),
	       vgetrandom_status_text(vgetrandom_status()));
	values_check_unique(shared->values, atomic_load(&shared->count));
	return 0;
}
