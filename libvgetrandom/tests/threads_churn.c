// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Description: 10,000 threads draw on all paths, one after another and 64 at once, and end in all
 * ways: they return, call pthread_exit(), or are cancelled at a cancellation point or in the middle
 * of a draw. Some draw while they end, before and after libc tells the library.
 *
 * Arguments, for slow tools: the number of threads; "stand-in" if there is no vDSO: then the test
 * does not count slots.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "draws.h"
#include "pool_count.h"
#include "sanitizers.h"
#include "thread.h"
#include "values.h"
#include "vdso_stand_in.h"

enum {
	THREADS = 10000,
	AT_ONCE = 64,
	/* One in this many runs alone. */
	ALONE = 5,
	/* A cancelled thread's slot stays in use, so that its destructors take a second one. */
	SLOTS_EACH = 2,
	CHUNKS_MAX = (AT_ONCE * SLOTS_EACH + 1) / POOL_CHUNK_SLOTS + 1,
	/* In destructors before the library's, after it, again after it, and in the thread. */
	DRAWS_EACH = 5 * PATHS,
};

enum ending {
	RETURNS,
	CALLS_PTHREAD_EXIT,
	IS_CANCELLED,
	/* What signal handlers that jump do to the library, without a signal. */
	IS_CANCELLED_IN_A_DRAW,
	ENDINGS,
};

struct job {
	pthread_t thread;
	enum ending ending;
	uint64_t *values;
	/* How often the destructors of the keys before and after the library's were called. */
	int before, after;
	/* The thread has drawn and can be cancelled. */
	atomic_bool ready;
};

static pthread_key_t key_before, key_after;

static void draw_next(struct job *job)
{
	draw_all_paths(job->values);
	job->values += PATHS;
}

/* Nothing gives back what the thread keeps after the library was told that it ends. */
static void check_keeps_nothing(void)
{
	check(vgetrandom_status() == VGETRANDOM_BORROWED, "status %d", vgetrandom_status());
	check(vgr_thread.ready == &vgr_no_slot && !vgr_thread.owned,
	      "a thread that ends keeps a slot");
}

/* libc calls destructors key by key, and repeats this if values were set meanwhile. */
static void at_exit_before(void *argument)
{
	struct job *job = argument;

	draw_next(job);
	if (job->before++)
		check_keeps_nothing();
	else
		pthread_setspecific(key_before, job);
}

static void at_exit_after(void *argument)
{
	struct job *job = argument;

	draw_next(job);
	job->after++;
	check_keeps_nothing();
}

/* C++'s destructors of thread_local objects; libc calls them before those of keys. */
#ifdef __GLIBC__
extern int __cxa_thread_atexit_impl(void (*destructor)(void *), void *object, void *library);
extern void *__dso_handle;

static void at_exit_cxx(void *argument)
{
	draw_next(argument);
}

static void register_cxx(struct job *job)
{
	__cxa_thread_atexit_impl(at_exit_cxx, job, &__dso_handle);
}
#else
static void register_cxx(struct job *job)
{
	draw_next(job);
}
#endif

/* Runs before the library's own constructor, so that the key is below its key. */
__attribute__((constructor(101))) static void create_key_before(void)
{
	uint64_t value;

	check(pthread_key_create(&key_before, at_exit_before) == 0, "no key");
	/* The library is not prepared yet and borrows a slot, which must not last. */
	draw_into(&value, sizeof(value));
}

static void draw_until_cancelled(struct job *job)
{
	static _Thread_local uint8_t bytes[65536];

	/* Interrupt the thread anywhere, but not in a sanitizer's code. */
	if (!THREAD_SANITIZER && !ADDRESS_SANITIZER)
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	atomic_store(&job->ready, true);
	for (;;) {
		(void)vgetrandom(bytes, sizeof(bytes), 0);
		sched_yield();
		pthread_testcancel();
	}
}

/* ThreadSanitizer loses track of threads that are cancelled in a system call that it wraps. */
static void wait_for_cancellation(void)
{
	if (!THREAD_SANITIZER)
		pause();
	sched_yield();
	pthread_testcancel();
}

static void *run(void *argument)
{
	struct job *job = argument;

	register_cxx(job);
	pthread_setspecific(key_before, job);
	pthread_setspecific(key_after, job);
	draw_next(job);
	check(vgetrandom_status() == VGETRANDOM_VDSO, "status %d", vgetrandom_status());
	if (job->ending == CALLS_PTHREAD_EXIT)
		pthread_exit(NULL);
	if (job->ending == IS_CANCELLED_IN_A_DRAW)
		draw_until_cancelled(job);
	atomic_store(&job->ready, true);
	while (job->ending == IS_CANCELLED)
		wait_for_cancellation();
	return NULL;
}

static void start(struct job *job, enum ending ending, uint64_t *values)
{
	*job = (struct job){ .ending = ending, .values = values };
	check(pthread_create(&job->thread, NULL, run, job) == 0, "no thread");
}

static void cancel(struct job *job)
{
	if (job->ending != IS_CANCELLED && job->ending != IS_CANCELLED_IN_A_DRAW)
		return;
	while (!atomic_load(&job->ready))
		usleep(10);
	pthread_cancel(job->thread);
}

static void join(struct job *job, const uint64_t *values)
{
	pthread_join(job->thread, NULL);
	check(job->before == 2 && job->after == 1, "destructors: %d, %d", job->before, job->after);
	check(job->values == values + DRAWS_EACH, "%zd draws", job->values - values);
}

static void check_pool(void)
{
	printf("%zu slots\n", pool_slots());
	check(pool_slots() <= CHUNKS_MAX * POOL_CHUNK_SLOTS, "%zu slots", pool_slots());
	pool_check_taken(vgr_thread.owned ? 1 : 0);
}

int main(int argc, char **argv)
{
	size_t threads = argc > 1 ? strtoul(argv[1], NULL, 10) : THREADS;
	bool stand_in = argc > 2 && !strcmp(argv[2], "stand-in");
	uint64_t *values = values_map(threads * DRAWS_EACH * sizeof(*values));
	static struct job jobs[AT_ONCE];
	size_t started = 0;

	check(vgetrandom_status() != VGETRANDOM_BORROWED, "as a constructor drew");
	if (stand_in)
		vdso_stand_in_use();
	if (vgetrandom_status() != VGETRANDOM_VDSO)
		cannot_run("%s", vgetrandom_status_text(vgetrandom_status()));
	check(pthread_key_create(&key_after, at_exit_after) == 0, "no key");
	while (started < threads) {
		size_t left = threads - started;
		size_t count = started < threads / ALONE ? 1 : left < AT_ONCE ? left : AT_ONCE;
		uint64_t *first = values + started * DRAWS_EACH;

		for (size_t i = 0; i < count; i++)
			start(&jobs[i], (enum ending)((started + i) % ENDINGS),
			      first + i * DRAWS_EACH);
		for (size_t i = 0; i < count; i++)
			cancel(&jobs[i]);
		for (size_t i = 0; i < count; i++)
			join(&jobs[i], first + i * DRAWS_EACH);
		started += count;
	}
	printf("%zu threads\n", started);
	if (!stand_in)
		check_pool();
	values_check_unique(values, threads * DRAWS_EACH);
	return 0;
}
