// SPDX-License-Identifier: GPL-2.0
/*
 * Description: collects what offsets start from, to see whether it can be guessed: the
 * states of many children, the keys that two CPUs draw, and the random numbers that the
 * kernel has in store when each key is drawn.
 *
 * Usage: seeds CHILDREN
 */
#define _GNU_SOURCE
#include "counter.h"
#include "generator.h"
#include "probe.h"
#include "record.h"
#include "side_by_side.h"

enum {
	CPUS = 2,
	KEYS = 256,
	/* A key that still has not changed then is not waited for. */
	PATIENCE_MS = 60,
	CALIBRATION_US = 50000,
};

static void collect_states(int probe, uint64_t symbol, size_t children)
{
	long *states = shared_array(children);

	for (size_t i = 0; i < children; i++) {
		pid_t child = fork_bare();

		if (child == 0) {
			states[i] = (long)read_generator(probe, symbol, 0).task_state;
			_exit(0);
		}
		finish_task(child);
	}
	print_samples("seed_state", states, children);
}

static uint64_t counts_in(useconds_t us)
{
	uint64_t begin = counter();

	usleep(us);
	return counter() - begin;
}

/* A CPU that sleeps draws no keys. */
static pid_t keep_busy(size_t cpu)
{
	pid_t task = start_task();

	if (task == 0) {
		stay_on_cpu(cpu);
		for (;;)
			;
	}
	return task;
}

static void read_store(int probe, uint64_t symbol, size_t cpu, long *words)
{
	struct kstack_probe_memory memory = { .symbol = symbol, .cpu = cpu };

	if (ioctl(probe, KSTACK_PROBE_MEMORY, &memory))
		fail("random numbers in store");
	for (size_t i = 0; i < KSTACK_PROBE_WORDS; i++)
		words[i] = (long)memory.words[i];
}

/* Record each key of @cpu, and what the kernel has in store right after it was drawn. */
static size_t collect_keys(int probe, uint64_t symbol, uint64_t store, size_t cpu, long *keys,
			   long *words)
{
	uint64_t patience = counts_in(CALIBRATION_US) * PATIENCE_MS * 1000 / CALIBRATION_US;
	uint64_t last = 0, changed = counter();
	size_t found = 0;

	while (found < KEYS && counter() - changed < patience) {
		uint64_t key = read_generator(probe, symbol, cpu).cpu_state[0];

		if (found && key == last)
			continue;
		read_store(probe, store, cpu, words + found * KSTACK_PROBE_WORDS);
		keys[found++] = (long)key;
		last = key;
		changed = counter();
	}
	return found;
}

static void collect_keys_of_cpus(int probe, uint64_t symbol)
{
	static const char *const names[] = { "batched_entropy_u64" };
	uint64_t store = find_symbol(names, 1);
	long *keys = array(CPUS * KEYS), *words = array(CPUS * KEYS * KSTACK_PROBE_WORDS);
	long found[CPUS];
	size_t all = 0;

	for (size_t cpu = 0; cpu < CPUS; cpu++) {
		pid_t busy = keep_busy(cpu);

		stay_on_cpu(1 - cpu);
		found[cpu] = (long)collect_keys(probe, symbol, store, cpu, keys + all,
						words + all * KSTACK_PROBE_WORDS);
		all += (size_t)found[cpu];
		kill(busy, SIGKILL);
		wait_for(busy);
	}
	print_definition("seed_keys_of_cpu", found, CPUS);
	print_samples("seed_key", keys, all);
	print_samples("seed_store", words, all * KSTACK_PROBE_WORDS);
	free(keys);
	free(words);
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
	collect_states(probe, symbol, children);
	/* Stock's generator and the constant have no key. */
	if (symbol)
		collect_keys_of_cpus(probe, symbol);
	return 0;
}
