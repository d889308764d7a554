/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads the keys of a CPU that naps: by itself before and after, from another meanwhile.
 *
 * Define _GNU_SOURCE before including this.
 */
#ifndef NAPS_H
#define NAPS_H

#include <stdatomic.h>

#include "key_memory.h"
#include "next_key.h"
#include "pace.h"

enum {
	NAPS = 32,
	/* In which a key grows too old, whatever the length of a tick; by turns longer. */
	NAP_MS = 25,
	LONG_NAP_MS = 60,
	/* After the first ticks of a nap: then they have stopped. */
	ASLEEP_MS = 40,
	/* More keys than a CPU draws in all naps. */
	WATCHED = 4096,
};

/*
 * @before: the key right before each nap
 * @after: right after it; 0: the ticks of the nap were held back
 * @us: how long that one served, as in struct next_key; 0: not tried; -1: no other came
 * @late: whether ticks were late then
 * @start: when each began, by the counter
 * @spoilt: whether memory was put back when it may have been over
 * @watched: whether another CPU reads the keys: the first nap waits for it
 * @begun: how many have begun
 * @done: whether all are over
 */
struct naps {
	long before[NAPS];
	long after[NAPS];
	long us[NAPS];
	long late[NAPS];
	uint64_t start[NAPS];
	bool spoilt[NAPS];
	atomic_bool watched;
	atomic_size_t begun;
	atomic_bool done;
};

static inline bool is_long(size_t nap)
{
	return nap % 2;
}

static inline bool ticks_are_late(void)
{
	uint64_t tick = tick_ns();

	return nanoseconds() - nanoseconds_by_ticks() > tick + tick / 2;
}

static inline void take_naps(const struct keyed_cpu *c, struct naps *naps)
{
	while (!atomic_load(&naps->watched))
		nap(1000);
	for (size_t i = 0; i < NAPS; i++) {
		struct next_key next;
		uint64_t key;

		naps->before[i] = (long)key_of(c);
		naps->start[i] = counter();
		atomic_store(&naps->begun, i + 1);
		nap((is_long(i) ? LONG_NAP_MS : NAP_MS) * 1000);
		key = key_of(c);
		naps->after[i] = ticks_are_late() ? 0 : (long)key;
		next = wait_for_key(c, key);
		naps->us[i] = next.key ? next.us : -1;
		naps->late[i] = next.late;
		if (!next.key)
			break;
	}
	atomic_store(&naps->done, true);
}

static inline bool has_slept_for(const struct keyed_cpu *c, const struct naps *naps, size_t nap,
				 uint64_t ms)
{
	return counter() - naps->start[nap] > ms * 1000 * c->per_us;
}

/*
 * Record all keys, from another CPU; return how many. In each long nap put back the same
 * memory, so that the keys after these are the same if they come from nothing else.
 */
static inline size_t watch_keys(const struct keyed_cpu *c, struct key_symbols symbols,
				struct naps *naps, long *keys)
{
	struct memory_of_keys all = { 0 };
	size_t found = 0, begun = 0;
	bool put = true;
	uint64_t last = 0;

	atomic_store(&naps->watched, true);
	while (!atomic_load(&naps->done) && found < WATCHED) {
		uint64_t key = key_of(c);

		if (key != last)
			keys[found++] = (long)key;
		last = key;
		if (atomic_load(&naps->begun) != begun) {
			begun = atomic_load(&naps->begun);
			put = !is_long(begun - 1);
		}
		if (!put && has_slept_for(c, naps, begun - 1, ASLEEP_MS)) {
			/* In the first long nap, since keys were drawn from it before. */
			if (!all.key.count)
				all = read_memory_of_keys(c->probe, symbols, c->cpu);
			put_back(c->probe, &all);
			naps->spoilt[begun - 1] = has_slept_for(c, naps, begun - 1, LONG_NAP_MS);
			last = all.key.words[0];
			put = true;
		}
	}
	return found;
}

static inline void nap_under_watch(int probe, struct key_symbols symbols, uint64_t per_us)
{
	long *watched = array(CPUS * WATCHED);
	size_t found = 0;

	for (size_t cpu = 0; cpu < CPUS; cpu++) {
		const struct keyed_cpu c = { probe, symbols.key, cpu, per_us };
		struct naps *naps = shared(sizeof(*naps));
		pid_t sleeper = fork_bare();

		stay_on_cpu(sleeper ? 1 - cpu : cpu);
		if (sleeper == 0) {
			take_naps(&c, naps);
			_exit(0);
		}
		found += watch_keys(&c, symbols, naps, watched + found);
		finish_task(sleeper);
		for (size_t i = 0; i < NAPS; i++)
			naps->after[i] = naps->spoilt[i] ? 0 : naps->after[i];
		print_samples("seed_nap_before", naps->before, NAPS);
		print_samples("seed_nap_key", naps->after, NAPS);
		print_samples("seed_nap_us", naps->us, NAPS);
		print_samples("seed_nap_late", naps->late, NAPS);
		munmap(naps, sizeof(*naps));
	}
	if (found)
		print_samples("seed_watched_key", watched, found);
	free(watched);
}

#endif
