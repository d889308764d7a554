/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of one workload: an exact histogram, split by whether a timer tick
 * fell into the sample, and what is needed to check that nothing was missed.
 */
#ifndef TEMPER_SAMPLE_H
#define TEMPER_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct samples;

/* What the loop says of itself when it is done. */
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

/* Keep the samples out of child processes, where their pages would be mapped too. */
void samples_hide(struct samples *s);

/* Start counting ticks and interrupts; call right before the marked region. */
void samples_begin(struct samples *s);
void samples_end(struct samples *s);

/*
 * A sample was hit by a tick if @tick_now, read right after it, is not what it was
 * after the sample before. So a tick between the two samples counts as well: those
 * few hit nothing, but no sample that was hit is missed.
 */
void samples_add(struct samples *s, uint64_t value, uint64_t tick_now);

/*
 * The same by who knows whether a tick hit it. Of samples so long that ticks fall into
 * every one, they are a part: none is told apart.
 */
void samples_put(struct samples *s, uint64_t value, bool tick);

/* Print the histogram and workload records. */
void samples_print(struct samples *s, const struct workload *w);

/*
 * The coarse clock moves only when the kernel handles a timer tick, and reading
 * it takes no system call: between two equal reads there was no tick.
 */
uint64_t tick_clock(void);

/* The least that two clock reads with nothing between them are apart. */
uint64_t clock_overhead(void);

#endif
