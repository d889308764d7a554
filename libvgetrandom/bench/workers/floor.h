/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a function of the library costs at least: the call, a variable of the thread, and the work
 * itself, without a check, a mark or a lock. Not for use: it is wrong in a signal handler, and
 * after a fork.
 */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include <stdint.h>
#include <sys/types.h>

#include "chacha20.h"

typedef ssize_t floor_getrandom_fn(void *buf, size_t len, unsigned int flags, void *state,
				   size_t size);

/* Given before the first call, for all threads. */
struct floor_config {
	floor_getrandom_fn *vdso;
	size_t state_size;
	const struct chacha20 *chacha20;
};

void floor_prepare(const struct floor_config *config);

/* Before the first call of a thread; index is unique. */
void floor_begin(unsigned int index, void *state);

/* The vDSO function. */
ssize_t floor_draw(void *buf, size_t len, unsigned int flags);

/* The same with the mark of a busy state, which alone keeps signal handlers from using it too. */
ssize_t floor_draw_marked(void *buf, size_t len, unsigned int flags);

/* A number from the thread's buffer, erased there. */
uint64_t floor_u64(void);

#endif
