/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads the keys of all CPUs right before and after the kernel is told that its machine is a
 * copy, where it can be told.
 *
 * Define _GNU_SOURCE before including this.
 */
#ifndef COPIES_H
#define COPIES_H

#include "key_memory.h"

enum { COPIES = 32 };

static inline void read_keys(int probe, uint64_t symbol, long *keys)
{
	for (size_t cpu = 0; cpu < CPUS; cpu++)
		keys[cpu] = (long)read_generator(probe, symbol, cpu).cpu_state[0];
}

static inline void draw_in_copies(int probe, uint64_t symbol)
{
	/* With CONFIG_VMGENID. */
	static const char *const names[] = { "add_vmfork_randomness" };
	uint64_t notice = find_symbol(names, 1);
	long before[COPIES * CPUS], after[COPIES * CPUS];

	if (!notice)
		return;
	for (size_t i = 0; i < COPIES; i++) {
		read_keys(probe, symbol, before + i * CPUS);
		if (ioctl(probe, KSTACK_PROBE_COPIED, notice))
			fail("notice of a copy");
		read_keys(probe, symbol, after + i * CPUS);
	}
	print_samples("seed_copy_before", before, COPIES * CPUS);
	print_samples("seed_copy_key", after, COPIES * CPUS);
}

#endif
