// SPDX-License-Identifier: GPL-2.0
/*
 * Description: collects what offsets start from, to see whether it can be guessed: the
 * states of many children; the keys that two CPUs draw, how long each serves by the
 * counter, the other CPU's key meanwhile, and the random numbers that the kernel has in
 * store when a key is drawn.
 *
 * Usage: seeds CHILDREN
 */
#define _GNU_SOURCE
#include <stdbool.h>

#include "counter.h"
#include "generator.h"
#include "pace.h"
#include "probe.h"
#include "record.h"

enum {
	CPUS = 2,
	KEYS = 256,
	/* For one key. Ticks, since a busy host may keep a guest from them for seconds. */
	PATIENCE_TICKS = 100,
	/* For all keys of a CPU. */
	DEADLINE_MS = 20000,
};

static void read_store(int probe, uint64_t symbol, size_t cpu, long *words)
{
	struct kstack_probe_memory memory = { .symbol = symbol, .cpu = cpu };

	if (ioctl(probe, KSTACK_PROBE_MEMORY, &memory))
		fail("random numbers in store");
	for (size_t i = 0; i < KSTACK_PROBE_WORDS; i++)
		words[i] = (long)memory.words[i];
}

/* What is known of each key, in the order in which they were drawn. */
struct keys {
	long *key;
	/*
	 * How long the one before it served, but no more ticks than came; 0: the host held
	 * back more than one.
	 */
	long *us;
	/* The other CPU's, at that moment. */
	long *other;
	/* KSTACK_PROBE_WORDS random numbers in store. */
	long *words;
};

/* What ticks drive; how long a key serves is told by the counter. */
static uint64_t time_by_ticks(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t length_of_tick(void)
{
	struct timespec tick;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick))
		fail("clock_getres");
	return (uint64_t)tick.tv_nsec;
}

/* A tick that the host makes late is not the kernel's doing. */
static long served(uint64_t us, uint64_t ticks_us)
{
	return (long)(us < ticks_us ? us : ticks_us);
}

/* Record the keys of @cpu, from one that was just drawn; return how many there are. */
static size_t collect_keys(int probe, uint64_t symbol, uint64_t store, size_t cpu, uint64_t per_us,
			   struct keys k)
{
	uint64_t last = read_generator(probe, symbol, cpu).cpu_state[0], begin = counter();
	uint64_t changed = begin, ticked = time_by_ticks(), tick = length_of_tick();
	size_t found = 0, ticks = 0;
	bool late = false;

	while (found < KEYS && ticks < PATIENCE_TICKS &&
	       counter() - begin < DEADLINE_MS * 1000 * per_us) {
		/* First, so that the tick that draws a key counts as one of the last key's. */
		uint64_t key = read_generator(probe, symbol, cpu).cpu_state[0],
			 now = time_by_ticks();

		ticks += now != ticked;
		late |= now - ticked > tick + tick / 2;
		ticked = now;
		if (key == last)
			continue;
		k.us[found] =
			late ? 0 : served((counter() - changed) / per_us, ticks * tick / 1000);
		late = false;
		ticks = 0;
		k.other[found] = (long)read_generator(probe, symbol, 1 - cpu).cpu_state[0];
		read_store(probe, store, cpu, k.words + found * KSTACK_PROBE_WORDS);
		k.key[found++] = (long)key;
		last = key;
		changed = counter();
	}
	return found;
}

static void collect_keys_of_cpus(int probe, uint64_t symbol)
{
	static const char *const names[] = { "batched_entropy_u64" };
	uint64_t store = find_symbol(names, 1), per_us = counts_per_us();
	struct keys k = {
		.key = array(CPUS * KEYS),
		.us = array(CPUS * KEYS),
		.other = array(CPUS * KEYS),
		.words = array(CPUS * KEYS * KSTACK_PROBE_WORDS),
	};
	long found[CPUS];
	size_t all = 0;

	for (size_t cpu = 0; cpu < CPUS; cpu++) {
		/* A CPU that sleeps draws no keys. */
		stay_on_cpu(cpu);
		found[cpu] = (long)collect_keys(probe, symbol, store, cpu, per_us,
						(struct keys){
							.key = k.key + all,
							.us = k.us + all,
							.other = k.other + all,
							.words = k.words + all * KSTACK_PROBE_WORDS,
						});
		all += (size_t)found[cpu];
	}
	print_definition("seed_keys_of_cpu", found, CPUS);
	if (all) {
		print_samples("seed_key", k.key, all);
		print_samples("seed_us", k.us, all);
		print_samples("seed_other", k.other, all);
		print_samples("seed_store", k.words, all * KSTACK_PROBE_WORDS);
	}
	free(k.key);
	free(k.us);
	free(k.other);
	free(k.words);
}

int main(int argc, char **argv)
{
	size_t children = samples_wanted(argc, argv);
	int probe = probe_open();
	uint64_t symbol = generator_symbol();

	need_cpus(CPUS);
	if (read_generator(probe, symbol, 0).generator == KSTACK_LFSR) {
		fputs("tasks have no state of their own\n", stderr);
		return UNSUPPORTED;
	}
	stay_on_cpu(0);
	print_samples("seed_state", states_of_children(probe, children), children);
	/* Stock's generator and the constant have no key. */
	if (symbol)
		collect_keys_of_cpus(probe, symbol);
	return 0;
}
