// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Description: a process forks while others of its threads have slots, the child makes as many
 * threads and forks in turn, and so on. No generation has more slots than the first.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "draws.h"
#include "pool_count.h"
#include "thread.h"

enum {
	THREADS = 2 * POOL_CHUNK_SLOTS,
	GENERATIONS = 7,
	STACK = 1 << 16,
};

static pthread_t threads[THREADS];
static pthread_barrier_t drawn, forked;

static void *draw_and_wait(void *unused)
{
	uint64_t values[PATHS];

	draw_all_paths(values);
	pthread_barrier_wait(&drawn);
	pthread_barrier_wait(&forked);
	draw_all_paths(values);
	return unused;
}

static void start_threads(void)
{
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK);
	pthread_barrier_init(&drawn, NULL, THREADS + 1);
	pthread_barrier_init(&forked, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		check(!pthread_create(&threads[i], &small, draw_and_wait, NULL), "no thread");
	pthread_barrier_wait(&drawn);
}

static void join_threads(void)
{
	pthread_barrier_wait(&forked);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static const struct slot *own;

static void *draw_and_end(void *unused)
{
	uint64_t values[PATHS];

	draw_all_paths(values);
	return unused;
}

/*
 * Has a slot of a thread that ended as a signal handler finds it that interrupts the taking of a
 * slot: forks must leave it alone. A handler that jumps leaves it so for good.
 */
static void prepare_pool(void)
{
	const struct slot *unnamed;
	pthread_t thread;

	own = vgr_thread.ready;
	check(!pthread_create(&thread, NULL, draw_and_end, NULL), "no thread");
	pthread_join(thread, NULL);
	unnamed = vgr_pool_take();
	check(unnamed == own + 1, "another slot than the thread's that ended");
}

/* This thread has its slot and the one without a name. */
static void check_pool(size_t others)
{
	check(vgr_thread.ready == own && vgr_thread.owned == own, "another slot than the parent's");
	pool_check_taken(2 + others);
}

/* Returns the child, or 0 in it. */
static pid_t next_generation(size_t *slots)
{
	pid_t child;

	start_threads();
	if (!*slots)
		*slots = pool_slots();
	check(pool_slots() <= *slots, "%zu slots, and %zu in the first generation", pool_slots(),
	      *slots);
	child = fork();
	check(child >= 0, "no fork");
	if (child) {
		check_pool(THREADS);
		join_threads();
	}
	return child;
}

int main(void)
{
	int generation = 0, status;
	uint64_t values[PATHS];
	size_t slots = 0;
	pid_t child;

	draw_all_paths(values);
	if (vgetrandom_status() != VGETRANDOM_VDSO)
		cannot_run("%s", vgetrandom_status_text(vgetrandom_status()));
	prepare_pool();
	do
		child = next_generation(&slots);
	while (!child && ++generation < GENERATIONS);
	check_pool(0);
	if (child)
		check(waitpid(child, &status, 0) == child && !status, "status %x",
		      (unsigned int)status);
	return 0;
}
