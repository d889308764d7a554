// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Description: threads of a program that took keys of thread-specific data before the library:
 * libc's first 32, beyond which setting a key may call malloc(), or all keys, so that libc reports
 * no thread's end. Both borrow a slot for each draw; the first until a prewarm, which signal
 * handlers must not call.
 *
 * The program runs itself again with the number of keys in the environment, for a constructor to
 * take.
 */
#include <limits.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "draws.h"
#include "pool_count.h"
#include "thread.h"
#include "values.h"

#define KEYS_VARIABLE "VGETRANDOM_TEST_KEYS"

enum {
	THREADS = 200,
	DRAWS_EACH = 2,
	VALUES = THREADS * DRAWS_EACH * PATHS,
	SOME_KEYS = 32,
};

static int keys;
static uint64_t *values;

/* Earlier than the library, which has the first number that programs may use. */
__attribute__((constructor(100))) static void take_keys(void)
{
	const char *wanted = getenv(KEYS_VARIABLE);
	int count = wanted ? atoi(wanted) : 0;
	pthread_key_t key;

	while (keys < count && pthread_key_create(&key, NULL) == 0)
		keys++;
}

static void *borrow(void *argument)
{
	uint64_t *drawn = argument;

	check(vgetrandom_status() == VGETRANDOM_BORROWED, "status %d before the first draw",
	      vgetrandom_status());
	for (int i = 0; i < DRAWS_EACH; i++)
		draw_all_paths(drawn + i * PATHS);
	check(vgetrandom_status() == VGETRANDOM_BORROWED, "status %d", vgetrandom_status());
	check(vgr_thread.ready == &vgr_no_slot && !vgr_thread.owned, "a slot is kept");
	return NULL;
}

/* With a later key libc tells, except in signal handlers; without a key it never does. */
static void *prewarm(void *argument)
{
	uint64_t *drawn = argument;

	/* Not new any more: it borrows. */
	draw_all_paths(drawn);
	check(vgetrandom_prewarm() == 0, "prewarm");
	for (int i = 0; i < DRAWS_EACH; i++)
		draw_all_paths(drawn + i * PATHS);
	check(vgetrandom_status() == VGETRANDOM_VDSO, "status %d", vgetrandom_status());
	check(vgr_thread.ready != &vgr_no_slot && vgr_thread.owned, "no slot is kept");
	if (keys > SOME_KEYS) {
		vgetrandom_release();
		/* A prewarm counts until then: nobody would give back what later draws keep. */
		draw_all_paths(drawn);
		check(vgetrandom_status() == VGETRANDOM_BORROWED, "status %d after a release",
		      vgetrandom_status());
	}
	return NULL;
}

static void run_threads(void *(*run)(void *))
{
	pthread_t threads[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		check(pthread_create(&threads[i], NULL, run, values + i * DRAWS_EACH * PATHS) == 0,
		      "no thread");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	values_check_unique(values, VALUES);
	pool_check_taken(0);
}

static int test(void)
{
	values = values_map(VALUES * sizeof(*values));
	run_threads(borrow);
	run_threads(prewarm);
	return 0;
}

static void test_with_keys(char *self, int count)
{
	char wanted[16];
	int status;
	pid_t child = fork();

	check(child >= 0, "fork");
	if (child == 0) {
		snprintf(wanted, sizeof(wanted), "%d", count);
		setenv(KEYS_VARIABLE, wanted, 1);
		execl("/proc/self/exe", self, NULL);
		_exit(EXIT_FAILURE);
	}
	check(waitpid(child, &status, 0) == child && status == 0, "%d keys: status %x", count,
	      (unsigned int)status);
}

int main(int argc, char **argv)
{
	(void)argc;
	if (vgetrandom_status() == VGETRANDOM_NO_VDSO)
		cannot_run("%s", vgetrandom_status_text(vgetrandom_status()));
	if (keys)
		return test();
	test_with_keys(argv[0], SOME_KEYS);
	/* All that are left: something else may take some. */
	test_with_keys(argv[0], INT_MAX);
	return 0;
}
