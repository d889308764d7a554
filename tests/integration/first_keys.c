// SPDX-License-Identifier: Apache-2.0
/*
 * Description: prints what kstack's generator began with at boot and has not used since.
 *
 * The keys of CPUs that never came, all but CPU 0, and the states of kernel threads, which
 * make no system calls.
 *
 * Usage: first_keys CPUS
 */
#define _GNU_SOURCE
#include <limits.h>

#include "generator.h"
#include "probe.h"
#include "record.h"

enum { THREADS = 1024, KTHREADD = 2 };

/* Its parent is the one that makes them. */
static bool is_kernel_thread(long task)
{
	char path[PATH_MAX];
	long parent = 0;
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/%ld/stat", task);
	stat = fopen(path, "r");
	if (!stat)
		return false;
	if (fscanf(stat, "%*d (%*[^)]) %*c %ld", &parent) != 1)
		fail(path);
	fclose(stat);
	return task == KTHREADD || parent == KTHREADD;
}

int main(int argc, char **argv)
{
	size_t cpus = samples_wanted(argc, argv), threads = 0;
	long *keys = array(cpus), states[THREADS];
	uint64_t symbol = generator_symbol();
	int probe = probe_open();

	for (size_t cpu = 1; cpu < cpus; cpu++)
		keys[cpu - 1] = (long)read_generator(probe, symbol, cpu).cpu_state[0];
	for (long task = KTHREADD; task < THREADS; task++) {
		struct kstack_probe_task asked = { .task = (uint64_t)task };

		if (!is_kernel_thread(task))
			continue;
		if (!ioctl(probe, KSTACK_PROBE_TASK_STATE, &asked))
			states[threads++] = (long)asked.state;
		else if (errno != ESRCH)
			fail("state of a thread");
	}
	print_samples("first_key", keys, cpus - 1);
	print_samples("first_state", states, threads);
	free(keys);
	return 0;
}
