// SPDX-License-Identifier: GPL-2.0
/*
 * Description: collects what offsets start from, to see whether it can be guessed: the
 * states of many children; the keys that two CPUs draw, how long each serves by the
 * counter, the other CPU's key meanwhile, and the random numbers that the kernel has in
 * store when a key is drawn; the keys in naps and after them, and of a CPU that comes back; and
 * what key follows, twice, when all that the CPU keeps in memory for keys is as it was.
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
	/* In which a key grows too old, whatever the length of a tick; by turns longer. */
	NAPS = 32,
	NAP_MS = 25,
	LONG_NAP_MS = 60,
	/* More than a CPU draws in all naps. */
	WATCHED = 4096,
	/* How often CPU 1 goes and comes back. */
	RETURNS = 8,
	/* How often a key is drawn twice from the same memory. */
	PAIRS = 16,
	/* Words of get_random_long()'s batch, and of all its state. */
	STORE_WORDS = 12,
	BATCH_WORDS = 14,
	/* Of what that batch is filled from: a key, and how often that was seeded. */
	CRNG_WORDS = 5,
	PARTS = 3,
};

static struct kstack_probe_memory read_memory(int probe, uint64_t symbol, size_t cpu, size_t words)
{
	struct kstack_probe_memory memory = { .symbol = symbol, .cpu = cpu, .count = words };

	if (ioctl(probe, KSTACK_PROBE_MEMORY, &memory))
		fail("memory of a CPU");
	return memory;
}

static void read_store(int probe, uint64_t symbol, size_t cpu, long *words)
{
	struct kstack_probe_memory memory = read_memory(probe, symbol, cpu, STORE_WORDS);

	for (size_t i = 0; i < STORE_WORDS; i++)
		words[i] = (long)memory.words[i];
}

/* All that a CPU keeps in memory and draws its keys from. */
struct memory_of_keys {
	struct kstack_probe_memory parts[PARTS];
};

static struct memory_of_keys read_memory_of_keys(int probe, const uint64_t *symbols, size_t cpu)
{
	static const size_t words[PARTS] = { 1, BATCH_WORDS, CRNG_WORDS };
	struct memory_of_keys all;

	for (size_t i = 0; i < PARTS; i++)
		all.parts[i] = read_memory(probe, symbols[i], cpu, words[i]);
	return all;
}

static void put_back(int probe, struct memory_of_keys all)
{
	for (size_t i = 0; i < PARTS; i++)
		if (ioctl(probe, KSTACK_PROBE_PUT_MEMORY, &all.parts[i]))
			fail("memory of a CPU");
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
	/* STORE_WORDS random numbers in store. */
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
		read_store(probe, store, cpu, k.words + found * STORE_WORDS);
		k.key[found++] = (long)key;
		last = key;
		changed = counter();
	}
	return found;
}

/* The next key of @cpu; 0: there was none. */
static uint64_t wait_for_key(int probe, uint64_t symbol, size_t cpu, uint64_t last)
{
	uint64_t began = time_by_ticks(), key = last;

	while (key == last && time_by_ticks() - began < PATIENCE_TICKS * length_of_tick())
		key = read_generator(probe, symbol, cpu).cpu_state[0];
	return key == last ? 0 : key;
}

/*
 * Wait for a key, put back what it was drawn from, and wait for the next. They are the
 * same if nothing goes into a key but what lies in memory, the key before it included.
 */
static void draw_twice(int probe, const uint64_t *symbols, size_t cpu, long *first, long *again)
{
	for (size_t i = 0; i < PAIRS; i++) {
		uint64_t last = read_generator(probe, symbols[0], cpu).cpu_state[0];
		struct memory_of_keys all;

		/* Right after a key was drawn, so that there is time until the next. */
		wait_for_key(probe, symbols[0], cpu, last);
		all = read_memory_of_keys(probe, symbols, cpu);
		last = all.parts[0].words[0];
		first[i] = (long)wait_for_key(probe, symbols[0], cpu, last);
		put_back(probe, all);
		again[i] = (long)wait_for_key(probe, symbols[0], cpu, last);
	}
}

/* The keys of a CPU after naps, and those that a tick draws next; 0: none came. */
struct naps {
	long after[NAPS];
	long ticked[NAPS];
};

static void draw_after_naps(int probe, uint64_t symbol, size_t cpu, struct naps *naps)
{
	for (size_t i = 0; i < NAPS; i++) {
		long ms = i % 2 ? LONG_NAP_MS : NAP_MS;
		const struct timespec time = { .tv_nsec = ms * 1000000 };
		uint64_t key;

		if (nanosleep(&time, NULL))
			fail("nanosleep");
		key = read_generator(probe, symbol, cpu).cpu_state[0];
		naps->after[i] = (long)key;
		naps->ticked[i] = (long)wait_for_key(probe, symbol, cpu, key);
	}
}

/* Record the keys of @cpu, which sleeps by turns, from another; return how many. */
static size_t watch_keys(int probe, uint64_t symbol, size_t cpu, const atomic_bool *done,
			 long *keys)
{
	size_t found = 0;
	uint64_t last = 0;

	while (!atomic_load(done) && found < WATCHED) {
		uint64_t key = read_generator(probe, symbol, cpu).cpu_state[0];

		if (key != last)
			keys[found++] = (long)key;
		last = key;
	}
	return found;
}

/* A key may come back that is seen only while the CPU sleeps. */
static void nap_under_watch(int probe, uint64_t symbol)
{
	long *watched = array(CPUS * WATCHED);
	size_t found = 0;

	for (size_t cpu = 0; cpu < CPUS; cpu++) {
		struct naps *naps = shared(sizeof(*naps));
		atomic_bool *done = shared(sizeof(*done));
		pid_t sleeper = fork_bare();

		stay_on_cpu(sleeper ? 1 - cpu : cpu);
		if (sleeper == 0) {
			draw_after_naps(probe, symbol, cpu, naps);
			atomic_store(done, true);
			_exit(0);
		}
		found += watch_keys(probe, symbol, cpu, done, watched + found);
		finish_task(sleeper);
		print_samples("seed_nap_key", naps->after, NAPS);
		print_samples("seed_tick_key", naps->ticked, NAPS);
		munmap(naps, sizeof(*naps));
		munmap(done, sizeof(*done));
	}
	if (found)
		print_samples("seed_watched_key", watched, found);
	free(watched);
}

/* The keys of both CPUs, each time that CPU 1 has come back. */
static void draw_after_returns(int probe, uint64_t symbol, int online)
{
	long keys[RETURNS], others[RETURNS];

	stay_on_cpu(0);
	for (size_t i = 0; i < RETURNS; i++) {
		if (pwrite(online, "0", 1, 0) != 1 || pwrite(online, "1", 1, 0) != 1)
			fail("CPU 1");
		keys[i] = (long)read_generator(probe, symbol, 1).cpu_state[0];
		others[i] = (long)read_generator(probe, symbol, 0).cpu_state[0];
	}
	print_samples("seed_return_key", keys, RETURNS);
	print_samples("seed_return_other", others, RETURNS);
}

static void draw_twice_on_cpus(int probe, uint64_t symbol)
{
	static const char *const batch[] = { "batched_entropy_u64" }, *const crng[] = { "crngs" };
	const uint64_t symbols[PARTS] = { symbol, find_symbol(batch, 1), find_symbol(crng, 1) };
	long *first = array(CPUS * PAIRS), *again = array(CPUS * PAIRS);

	for (size_t cpu = 0; cpu < CPUS; cpu++) {
		stay_on_cpu(cpu);
		draw_twice(probe, symbols, cpu, first + cpu * PAIRS, again + cpu * PAIRS);
	}
	print_samples("seed_first", first, CPUS * PAIRS);
	print_samples("seed_again", again, CPUS * PAIRS);
	free(first);
	free(again);
}

static void collect_keys_of_cpus(int probe, uint64_t symbol)
{
	static const char *const names[] = { "batched_entropy_u64" };
	uint64_t store = find_symbol(names, 1), per_us = counts_per_us();
	struct keys k = {
		.key = array(CPUS * KEYS),
		.us = array(CPUS * KEYS),
		.other = array(CPUS * KEYS),
		.words = array(CPUS * KEYS * STORE_WORDS),
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
							.words = k.words + all * STORE_WORDS,
						});
		all += (size_t)found[cpu];
	}
	print_definition("seed_keys_of_cpu", found, CPUS);
	if (all) {
		print_samples("seed_key", k.key, all);
		print_samples("seed_us", k.us, all);
		print_samples("seed_other", k.other, all);
		print_samples("seed_store", k.words, all * STORE_WORDS);
	}
	free(k.key);
	free(k.us);
	free(k.other);
	free(k.words);
}

int main(int argc, char **argv)
{
	size_t children = samples_wanted(argc, argv);
	int probe = probe_open(), online;
	uint64_t symbol = generator_symbol();
	long *keys;

	need_cpus(CPUS);
	online = open_hotplug();
	if (read_generator(probe, symbol, 0).generator == KSTACK_LFSR) {
		fputs("tasks have no state of their own\n", stderr);
		return UNSUPPORTED;
	}
	stay_on_cpu(0);
	keys = array(children);
	print_samples("seed_state", states_of_children(probe, children, symbol, keys), children);
	/* Stock's generator and the constant have no key. */
	if (symbol) {
		print_samples("seed_state_key", keys, children);
		collect_keys_of_cpus(probe, symbol);
		draw_twice_on_cpus(probe, symbol);
		nap_under_watch(probe, symbol);
		draw_after_returns(probe, symbol, online);
	}
	return 0;
}
