/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads what the kernel's generator keeps in memory, as a leak would.
 *
 * Define _GNU_SOURCE before including this.
 */
#ifndef GENERATOR_H
#define GENERATOR_H

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "probe.h"
#include "record.h"
#include "side_by_side.h"

/* The address of the first of some symbols that the kernel has; 0 if it has none. */
static inline uint64_t find_symbol(const char *const *names, size_t count)
{
	FILE *symbols = fopen("/proc/kallsyms", "r");
	uint64_t address, found = 0;
	char line[512], name[256];

	if (!symbols) {
		perror("/proc/kallsyms");
		exit(1);
	}
	while (!found && fgets(line, sizeof(line), symbols)) {
		if (sscanf(line, "%" SCNx64 " %*c %255s", &address, name) != 2)
			continue;
		for (size_t i = 0; i < count; i++)
			if (!strcmp(name, names[i]))
				found = address;
	}
	fclose(symbols);
	return found;
}

/* The generator's per-CPU variable; 0 if it has none. */
static inline uint64_t generator_symbol(void)
{
	static const char *const names[] = { "kstack_key", "kstack_rnd_state" };

	return find_symbol(names, 2);
}

static inline struct kstack_probe_state read_generator(int probe, uint64_t symbol, size_t cpu)
{
	struct kstack_probe_state state = { .symbol = symbol, .cpu = (uint32_t)cpu };

	if (ioctl(probe, KSTACK_PROBE_STATE, &state)) {
		perror("state of the generator");
		exit(errno == EOPNOTSUPP ? UNSUPPORTED : 1);
	}
	return state;
}

/* The state of a task that makes no system call meanwhile. */
static inline long read_state_of(int probe, pid_t task)
{
	struct kstack_probe_task asked = { .task = (uint64_t)task };

	if (ioctl(probe, KSTACK_PROBE_TASK_STATE, &asked)) {
		perror("state of a task");
		exit(errno == EOPNOTSUPP ? UNSUPPORTED : 1);
	}
	return (long)asked.state;
}

/*
 * What is known of children, in the order of their birth.
 *
 * @states: what each starts from
 * @keys: the key of CPU 0 then
 * @parents: the state of their parent then
 */
struct births {
	long *states;
	long *keys;
	long *parents;
};

static inline struct births no_births(size_t children)
{
	return (struct births){ array(children), array(children), array(children) };
}

/*
 * Make children on CPU 0, the @first to the one before @end. None makes a system call before
 * its parent has read its state: each is a step with a key, which would hide what is wrong
 * with a state.
 */
static inline void add_births(struct births *b, size_t first, size_t end, int probe,
			      uint64_t symbol)
{
	atomic_size_t *read = shared(sizeof(*read));

	for (size_t i = first; i < end; i++) {
		struct kstack_probe_state state;
		pid_t child = fork_bare();

		if (child == 0) {
			while (atomic_load(read) <= i)
				;
			_exit(0);
		}
		b->states[i] = read_state_of(probe, child);
		state = read_generator(probe, symbol, 0);
		b->keys[i] = (long)state.cpu_state[0];
		b->parents[i] = (long)state.task_state;
		atomic_store(read, i + 1);
		finish_task(child);
	}
	munmap(read, sizeof(*read));
}

#endif
