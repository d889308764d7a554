// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Description: a thread that draws before the library's own constructor has run borrows its slot,
 * and from then on keeps one as any other does. What the main thread prewarms so early stays its
 * own, but libc still has to be asked to tell when it ends. Once the library has forgotten its key
 * of libc's, it leaves alone whoever gets the same one.
 */
#include <pthread.h>

#include "draws.h"
#include "libc.h"
#include "pool_count.h"
#include "thread.h"

static pthread_t early;
static pthread_barrier_t drawn, prepared;

static void *draw_early(void *unused)
{
	uint64_t values[PATHS];

	draw_all_paths(values);
	check(vgetrandom_status() == VGETRANDOM_BORROWED ||
		      vgetrandom_status() == VGETRANDOM_NO_VDSO,
	      "status %d", vgetrandom_status());
	pthread_barrier_wait(&drawn);
	pthread_barrier_wait(&prepared);
	draw_all_paths(values);
	if (vgetrandom_status() == VGETRANDOM_NO_VDSO)
		return unused;
	check(vgetrandom_status() == VGETRANDOM_VDSO, "status %d", vgetrandom_status());
	check(vgr_thread.ready == vgr_thread.owned, "no slot is kept");
	return unused;
}

/* Runs before the library's own constructor, also where link-time optimization sorts both. */
__attribute__((constructor(100))) static void start_early(void)
{
	pthread_barrier_init(&drawn, NULL, 2);
	pthread_barrier_init(&prepared, NULL, 2);
	check(!pthread_create(&early, NULL, draw_early, NULL), "no thread");
	pthread_barrier_wait(&drawn);
	vgetrandom_prewarm();
}

static void *draw_late(void *key)
{
	uint64_t values[PATHS];

	draw_all_paths(values);
	check(vgetrandom_status() == VGETRANDOM_BORROWED, "status %d", vgetrandom_status());
	check(!pthread_getspecific(*(pthread_key_t *)key), "another's key is set");
	return NULL;
}

static void check_forgotten_key(void)
{
	pthread_key_t key;
	pthread_t late;

	vgr_libc_forget();
	check(!pthread_key_create(&key, NULL), "no key");
	check(!pthread_create(&late, NULL, draw_late, &key), "no thread");
	pthread_join(late, NULL);
}

int main(void)
{
	check(vgr_thread.mode == THREAD_NEW, "libc is not asked");
	pthread_barrier_wait(&prepared);
	pthread_join(early, NULL);
	if (vgetrandom_status() != VGETRANDOM_VDSO)
		cannot_run("%s", vgetrandom_status_text(vgetrandom_status()));
	vgetrandom_release();
	pool_check_taken(0);
	check_forgotten_key();
	return 0;
}
