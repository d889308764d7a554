/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads what CPUs keep in memory and draw their keys from, and puts it back.
 *
 * Define _GNU_SOURCE before including this.
 */
#ifndef KEY_MEMORY_H
#define KEY_MEMORY_H

#include "generator.h"

enum {
	CPUS = 2,
	/* Words of get_random_long()'s batch, and of all its state. */
	STORE_WORDS = 12,
	BATCH_WORDS = 14,
	/* Of what that batch is filled from: a key, and how often that was seeded. */
	CRNG_WORDS = 5,
};

/* Where they are: looking for them takes longer than a key serves. */
struct key_symbols {
	uint64_t key, store, crng;
};

static inline struct key_symbols find_key_symbols(void)
{
	static const char *const store[] = { "batched_entropy_u64" }, *const crng[] = { "crngs" };

	return (struct key_symbols){ generator_symbol(), find_symbol(store, 1),
				     find_symbol(crng, 1) };
}

static inline struct kstack_probe_memory read_memory(int probe, uint64_t symbol, size_t cpu,
						     size_t words)
{
	struct kstack_probe_memory memory = { .symbol = symbol, .cpu = cpu, .count = words };

	if (ioctl(probe, KSTACK_PROBE_MEMORY, &memory))
		fail("memory of a CPU");
	return memory;
}

/* One CPU's key and, since another may draw it, the random numbers of all CPUs. */
struct memory_of_keys {
	struct kstack_probe_memory key, batches[CPUS], crngs[CPUS];
};

static inline struct memory_of_keys read_memory_of_keys(int probe, struct key_symbols symbols,
							size_t cpu)
{
	struct memory_of_keys all = { .key = read_memory(probe, symbols.key, cpu, 1) };

	for (size_t i = 0; i < CPUS; i++) {
		all.batches[i] = read_memory(probe, symbols.store, i, BATCH_WORDS);
		all.crngs[i] = read_memory(probe, symbols.crng, i, CRNG_WORDS);
	}
	return all;
}

static inline void put_memory(int probe, struct kstack_probe_memory memory)
{
	if (ioctl(probe, KSTACK_PROBE_PUT_MEMORY, &memory)) {
		perror("memory of a CPU");
		exit(errno == EOPNOTSUPP ? UNSUPPORTED : 1);
	}
}

static inline void put_back(int probe, const struct memory_of_keys *all)
{
	for (size_t i = 0; i < CPUS; i++) {
		put_memory(probe, all->batches[i]);
		put_memory(probe, all->crngs[i]);
	}
	put_memory(probe, all->key);
}

#endif
