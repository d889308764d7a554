// SPDX-License-Identifier: GPL-2.0
/*
 * Description: collects what offsets start from, to see whether it can be guessed: the
 * states of many children; the keys that two CPUs draw, how long each serves by the
 * counter, the other CPU's key meanwhile, and the random numbers that the kernel has in
 * store when a key is drawn; the keys that follow when all that CPUs keep in memory for
 * keys is as it was; and the keys in naps, after them, after long sleeps, on a CPU that
 * comes back, and in a copy of a virtual machine.
 *
 * Usage: seeds CHILDREN
 */
#define _GNU_SOURCE
#include "copies.h"
#include "key_memory.h"
#include "naps.h"
#include "next_key.h"
#include "pace.h"
#include "probe.h"
#include "record.h"
#include "sleeps.h"

enum {
	KEYS = 256,
	/* For all keys of a CPU. */
	DEADLINE_MS = 20000,
	/* Keys that a CPU draws from the same memory. */
	AGAIN = 128,
	/* How often CPU 1 goes and comes back. */
	RETURNS = 8,
};

/* What is known of each key, in the order in which they were drawn. */
struct keys {
	long *key;
	/* How long the one before it served, and whether ticks were late: struct next_key. */
	long *us;
	long *late;
	/* The other CPU's, at that moment. */
	long *other;
	/* STORE_WORDS random numbers in store. */
	long *words;
};

static void read_store(int probe, uint64_t symbol, size_t cpu, long *words)
{
	struct kstack_probe_memory memory = read_memory(probe, symbol, cpu, STORE_WORDS);

	for (size_t i = 0; i < STORE_WORDS; i++)
		words[i] = (long)memory.words[i];
}

static pid_t start_spinner(size_t cpu)
{
	pid_t task = fork_bare();

	if (task == 0) {
		stay_on_cpu(cpu);
		for (;;)
			;
	}
	return task;
}

static void stop_spinner(pid_t task)
{
	kill(task, SIGKILL);
	wait_for(task);
}

/*
 * Record the keys of a CPU, from one that was just drawn, with the other CPU idle at first,
 * then busy. Return how many there are; @stuck receives whether ticks came without a key.
 */
static size_t collect_keys(const struct keyed_cpu *c, uint64_t store, struct keys k, long *stuck)
{
	uint64_t last = key_of(c), begin = counter();
	pid_t spinner = 0;
	size_t found = 0;

	*stuck = false;
	while (found < KEYS && counter() - begin < DEADLINE_MS * 1000 * c->per_us) {
		struct next_key next;

		if (found == KEYS / 2 && !spinner)
			spinner = start_spinner(1 - c->cpu);
		next = wait_for_key(c, last);
		*stuck = !next.key;
		if (*stuck)
			break;
		k.us[found] = next.us;
		k.late[found] = next.late;
		k.other[found] = (long)read_generator(c->probe, c->symbol, 1 - c->cpu).cpu_state[0];
		read_store(c->probe, store, c->cpu, k.words + found * STORE_WORDS);
		k.key[found++] = (long)next.key;
		last = next.key;
	}
	if (spinner)
		stop_spinner(spinner);
	return found;
}

/* Return whether all CPUs draw keys. */
static bool collect_keys_of_cpus(int probe, struct key_symbols symbols, uint64_t per_us)
{
	struct keys k = {
		.key = array(CPUS * KEYS),
		.us = array(CPUS * KEYS),
		.late = array(CPUS * KEYS),
		.other = array(CPUS * KEYS),
		.words = array(CPUS * KEYS * STORE_WORDS),
	};
	long found[CPUS], stuck[CPUS];
	size_t all = 0;

	for (size_t cpu = 0; cpu < CPUS; cpu++) {
		const struct keyed_cpu c = { probe, symbols.key, cpu, per_us };
		const struct keys rest = {
			.key = k.key + all,
			.us = k.us + all,
			.late = k.late + all,
			.other = k.other + all,
			.words = k.words + all * STORE_WORDS,
		};

		/* A CPU that sleeps draws no keys. */
		stay_on_cpu(cpu);
		found[cpu] = (long)collect_keys(&c, symbols.store, rest, &stuck[cpu]);
		all += (size_t)found[cpu];
	}
	print_definition("seed_keys_of_cpu", found, CPUS);
	print_definition("seed_stuck", stuck, CPUS);
	if (all) {
		print_samples("seed_key", k.key, all);
		print_samples("seed_us", k.us, all);
		print_samples("seed_late", k.late, all);
		print_samples("seed_other", k.other, all);
		print_samples("seed_store", k.words, all * STORE_WORDS);
	}
	free(k.key);
	free(k.us);
	free(k.late);
	free(k.other);
	free(k.words);
	return !stuck[0] && !stuck[1];
}

/*
 * Draw many keys from the same memory. Some are the same if little or nothing goes into a
 * key but what lies in memory, the key before it included.
 */
static void draw_again(int probe, struct key_symbols symbols, uint64_t per_us)
{
	long *keys = array(AGAIN);

	for (size_t cpu = 0; cpu < CPUS; cpu++) {
		const struct keyed_cpu c = { probe, symbols.key, cpu, per_us };
		struct memory_of_keys all;

		stay_on_cpu(cpu);
		/* A key first: random numbers from before the last seeding are not used again. */
		wait_for_key(&c, key_of(&c));
		all = read_memory_of_keys(probe, symbols, cpu);
		for (size_t i = 0; i < AGAIN; i++) {
			put_back(probe, &all);
			keys[i] = (long)wait_for_key(&c, all.key.words[0]).key;
		}
		print_samples("seed_again_key", keys, AGAIN);
	}
	free(keys);
}

/* The keys of both CPUs, each time that CPU 1 has come back. */
static void draw_after_returns(int probe, uint64_t symbol, int online)
{
	long keys[RETURNS], others[RETURNS];

	stay_on_cpu(0);
	for (size_t i = 0; i < RETURNS; i++) {
		take_cpu_down_and_up(online);
		keys[i] = (long)read_generator(probe, symbol, 1).cpu_state[0];
		others[i] = (long)read_generator(probe, symbol, 0).cpu_state[0];
	}
	print_samples("seed_return_key", keys, RETURNS);
	print_samples("seed_return_other", others, RETURNS);
}

static void try_keys(int probe, int online)
{
	const struct key_symbols symbols = find_key_symbols();
	uint64_t per_us = counts_per_us();
	long tick_us = (long)tick_ns() / 1000;

	print_definition("seed_tick_us", &tick_us, 1);
	/* Or all that follows would wait in vain. */
	if (!collect_keys_of_cpus(probe, symbols, per_us))
		return;
	draw_again(probe, symbols, per_us);
	nap_under_watch(probe, symbols, per_us);
	time_keys_after_sleeps(probe, symbols.key, per_us);
	draw_after_returns(probe, symbols.key, online);
	draw_in_copies(probe, symbols.key);
}

int main(int argc, char **argv)
{
	size_t children = samples_wanted(argc, argv);
	int probe = probe_open(), online;
	uint64_t symbol = generator_symbol();
	struct births births;

	need_cpus(CPUS);
	online = open_hotplug();
	if (read_generator(probe, symbol, 0).generator == KSTACK_LFSR) {
		fputs("tasks have no state of their own\n", stderr);
		return UNSUPPORTED;
	}
	/* Or children print the parent's buffered output again. */
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	stay_on_cpu(0);
	births = no_births(children);
	add_births(&births, 0, children, probe, symbol);
	print_samples("seed_state", births.states, children);
	/* Stock's generator and the constant have no key. */
	if (symbol) {
		print_samples("seed_state_key", births.keys, children);
		print_samples("seed_parent", births.parents, children);
		try_keys(probe, online);
	}
	return 0;
}
