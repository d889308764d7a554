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

/* A number from the thread's buffer, erased there. */
uint64_t floor_u64(void);

/*
 * The same with the marks that the library needs: that the state is busy, since a signal handler
 * may draw, too, and that the kernel has not dropped the buffer.
 */
ssize_t floor_draw_marked(void *buf, size_t len, unsigned int flags);
uint64_t floor_u64_marked(void);

#endif
