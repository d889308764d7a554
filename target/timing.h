/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples with something to prepare between them, which is left out of them and of what
 * the plugin counts.
 */
#ifndef TEMPER_TIMING_H
#define TEMPER_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "sample.h"

/* What is timed, round by round. The preparation of the next round is left out. */
struct timing {
	struct samples *samples;
	bool counted;
	bool with_ticks;  /* they are part of what is timed */
	bool leaves_work; /* to the kernel, which does it later */
	unsigned int rounds_per_sample;
	unsigned int rounds;
	uint64_t value;
	bool ticked;
	uint64_t begin;
	uint64_t tick;
};

struct word;

/* Time rounds of what a word stands for; the program says what a word is. */
typedef void time_rounds(const struct word *word, struct timing *t, uint64_t rounds);

static inline struct timing timing_create(unsigned int rounds_per_sample, bool counted)
{
	struct timing t = {
		.samples = samples_create(),
		.counted = counted,
		.rounds_per_sample = rounds_per_sample,
	};

	samples_hide(t.samples);
	return t;
}

static inline void timing_destroy(struct timing *t)
{
	samples_destroy(t->samples);
}

static inline void timing_begin(struct timing *t)
{
	t->tick = tick_clock();
	if (t->counted)
		marker_begin();
	t->begin = clock_begin();
}

static inline void timing_end(struct timing *t)
{
	uint64_t value = clock_end() - t->begin;

	/* First, because after a fork() the writes below copy pages. */
	if (t->counted)
		marker_pause();
	t->value += value;
	t->ticked |= !t->with_ticks && tick_clock() != t->tick;
	if (++t->rounds < t->rounds_per_sample)
		return;
	samples_put(t->samples, t->value, t->ticked);
	t->rounds = 0;
	t->value = 0;
	t->ticked = false;
}

/*
 * Take at least @least samples, for at least three ticks: the kernel frees some things
 * late, in a tick. Returns how many it took.
 */
static inline uint64_t warm_up(time_rounds *time, const struct word *word, struct timing *t,
			       uint64_t least)
{
	uint64_t count = 0, last;

	samples_begin(t->samples);
	last = tick_clock();
	for (unsigned int ticks = 0; count < least || ticks < 3; count++) {
		time(word, t, t->rounds_per_sample);
		ticks += tick_clock() != last;
		last = tick_clock();
	}
	return count;
}

/* Take the samples that @w asks for. */
static inline void timing_run(time_rounds *time, const struct word *word, struct timing *t,
			      struct workload *w)
{
	uint64_t begin;

	samples_begin(t->samples);
	begin = clock_begin();
	time(word, t, w->count * t->rounds_per_sample);
	w->elapsed = clock_end() - begin;
	if (t->leaves_work)
		marker_end_drained();
	else
		marker_end();
	samples_end(t->samples);
}

#endif
