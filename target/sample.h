/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of one workload: an exact histogram, split by whether a timer tick fell into
 * the sample, and the figures that show that nothing was missed.
 */
#ifndef TEMPER_SAMPLE_H
#define TEMPER_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct samples;

/* What the loop reports about itself when it is done. */
struct workload {
	const char *name;
	uint64_t count;
	uint64_t warmup;
	unsigned int operations;
	uint64_t overhead;
	uint64_t elapsed;
};

struct samples *samples_create(void);
void samples_destroy(struct samples *s);

/* Keep the samples out of child processes: fork() would copy their mappings. */
void samples_hide(struct samples *s);

/* Start counting ticks and interrupts. Call it right before the marked region. */
void samples_begin(struct samples *s);
void samples_end(struct samples *s);

/*
 * A tick hit the sample if @tick_now, read right after it, differs from its value after
 * the previous sample. So a tick between two samples counts too: those few hit nothing,
 * but no sample that was hit is missed.
 */
void samples_add(struct samples *s, uint64_t value, uint64_t tick_now);

/*
 * As samples_add(), but the caller says whether a tick hit. If ticks fall into every
 * sample, because samples are long, they are part of the cost: pass false.
 */
void samples_put(struct samples *s, uint64_t value, bool tick);

/*
 * As marker_end(), after a while in which the kernel does what the loop left to it: frees
 * memory, calls RCU's callbacks, runs its workers. The classes count none of that, the
 * whole loop does. Not for small operations, which the ticks of that while would swamp.
 */
void marker_end_drained(void);

/* Print the histogram and workload records. */
void samples_print(struct samples *s, const struct workload *w);

/*
 * The coarse clock moves only when the kernel handles a timer tick, and reading it
 * takes no system call: there was no tick between two equal reads.
 */
uint64_t tick_clock(void);

/* The smallest difference between two clock reads with nothing between them. */
uint64_t clock_overhead(void);

#endif
