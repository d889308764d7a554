// SPDX-License-Identifier: GPL-2.0
/*
 * Description: makes every CPU switch stacks all the time, in all the ways there are.
 *
 * On each CPU two tasks wake each other, which switches from one to the other. Between,
 * one naps for a moment and one spins, so that timers interrupt tasks in user mode and
 * idle CPUs, and leave softirqs to do. It ends when this process has another parent: the
 * debugger outside tells it so.
 *
 * Usage: switches SAMPLES ATTACK
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <time.h>

#include "record.h"
#include "task.h"

enum { NAP_NS = 200000, SPIN_NS = 100000, LONGEST_S = 900 };

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
}

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void spin(void)
{
	int64_t end = now() + SPIN_NS;

	while (now() < end)
		;
}

/* Answer each byte by one. */
static void __attribute__((noreturn)) take_turns(int from, int to, void (*pause)(void))
{
	char byte;

	for (;;) {
		if (read(from, &byte, 1) != 1 || write(to, &byte, 1) != 1)
			_exit(1);
		pause();
	}
}

static void start_pair(size_t cpu, int ready)
{
	int there[2], back[2];

	if (pipe(there) || pipe(back))
		fail("pipe");
	for (int second = 0; second < 2; second++) {
		if (start_task())
			continue;
		if (!move_to_cpu(cpu))
			fail("sched_setaffinity");
		if (write(ready, "", 1) != 1)
			fail("write");
		if (second)
			take_turns(there[0], back[1], spin);
		take_turns(back[0], there[1], nap);
	}
	if (write(there[1], "", 1) != 1)
		fail("write");
}

int main(void)
{
	pid_t parent = getppid();
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int64_t end = now() + LONGEST_S * 1000000000LL;
	int ready[2];
	char byte;

	if (pipe(ready))
		fail("pipe");
	for (long cpu = 0; cpu < cpus; cpu++)
		start_pair(cpu, ready[1]);
	/* One that does not know yet that it must not outlive this process might do so. */
	for (long task = 0; task < 2 * cpus; task++)
		if (read(ready[0], &byte, 1) != 1)
			fail("read");
	while (getppid() == parent) {
		if (now() > end) {
			fprintf(stderr, "nobody said for %d s that this is enough\n", LONGEST_S);
			return 1;
		}
		nap();
	}
	return 0;
}
