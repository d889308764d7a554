// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Description: the kernel drops the pages of the states again and again while threads draw from
 * them. This may cost new keys, but no number may be zero or come twice.
 *
 * Argument: "long" for a hundred times as many drops.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "draws.h"
#include "thread.h"
#include "values.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

enum {
	THREADS = 2,
	STORMS = 10000,
	LONG = 100,
	/* At least this many drops must empty a page that was filled. */
	DROPS_MIN = 100,
	/* Values that a thread keeps; it discards the rest. */
	VALUES = 2000000,
};

static atomic_bool done;

struct job {
	pthread_t thread;
	/* The slot that it draws from. */
	_Atomic(struct slot *) slot;
	uint64_t *values;
	size_t count;
};

static bool is_filled(const struct slot *slot)
{
	return slot && READ_ONCE(slot->buffer->batch_mark);
}

/* Returns whether this emptied the page. A fast thread may have filled it again. */
static bool drop(const struct slot *slot, int advice)
{
	bool filled = is_filled(slot);

	if (slot)
		(void)madvise(slot->state, SLOT_PAGE_SIZE, advice);
	return filled && !is_filled(slot);
}

static void *draw_until_done(void *argument)
{
	struct job *job = argument;

	while (!atomic_load(&done)) {
		uint64_t values[PATHS];

		draw_all_paths(values);
		atomic_store(&job->slot, vgr_thread.ready);
		if (job->count + PATHS <= VALUES) {
			memcpy(job->values + job->count, values, sizeof(values));
			job->count += PATHS;
		}
	}
	return NULL;
}

/* Moves all values together. */
static size_t gather(struct job jobs[THREADS])
{
	size_t count = 0;

	for (int i = 0; i < THREADS; i++) {
		memmove(jobs[0].values + count, jobs[i].values, jobs[i].count * sizeof(uint64_t));
		count += jobs[i].count;
	}
	return count;
}

int main(int argc, char **argv)
{
	size_t storms = argc > 1 && !strcmp(argv[1], "long") ? (size_t)STORMS * LONG : STORMS;
	uint64_t *values = values_map((size_t)THREADS * VALUES * sizeof(*values)), first[PATHS];
	struct job jobs[THREADS] = { 0 };
	size_t drops = 0, zaps = 0;

	draw_all_paths(first);
	if (vgetrandom_status() != VGETRANDOM_VDSO)
		cannot_run("%s", vgetrandom_status_text(vgetrandom_status()));
	if (!drop(vgr_thread.ready, MADV_PAGEOUT))
		cannot_run("this kernel does not drop pages when asked to");
	for (int i = 0; i < THREADS; i++) {
		jobs[i].values = values + (size_t)i * VALUES;
		check(pthread_create(&jobs[i].thread, NULL, draw_until_done, &jobs[i]) == 0,
		      "no thread");
	}
	for (size_t i = 0; i < storms || drops + zaps < DROPS_MIN; i++) {
		for (int j = 0; j < THREADS; j++) {
			const struct slot *slot = atomic_load(&jobs[j].slot);

			drops += drop(slot, MADV_PAGEOUT);
			/* Does the same, but also to pages that another CPU made recently. */
			zaps += drop(slot, MADV_DONTNEED);
		}
	}
	atomic_store(&done, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(jobs[i].thread, NULL);
	printf("pages in use were seen to be dropped %zu times, and %zu times zapped\n", drops,
	       zaps);
	values_check_unique(values, gather(jobs));
	return 0;
}
