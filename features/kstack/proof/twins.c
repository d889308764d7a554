// SPDX-License-Identifier: GPL-2.0
/*
 * Description: collects what a boot draws, to be compared with what its twin draws: the
 * positions of children's system calls, the states that children start from, and the keys
 * of CPU 0. Before each, it makes what is no secret the same in both boots: the time by the
 * tick, how many tasks there have been, the next one's ID and, for positions, the counter to
 * the instruction. All at once: what is secret decides alone if it decides then.
 * What it could make the same is sent, too. The counter must count instructions.
 *
 * Usage: twins SAMPLES (of positions; fewer of the others)
 */
#define _GNU_SOURCE
#include <sys/personality.h>
#include <time.h>

#include "counter.h"
#include "generator.h"
#include "pace.h"
#include "probe.h"
#include "record.h"
#include "side_by_side.h"

enum {
	CALLS_PER_CHILD = 500,
	CALLS_PER_STATE = 10,
	/* A tick amid them may let a child run on, and all others would come later. */
	STATES_PER_GROUP = 20,
	GROUP_MS = 50,
	KEYS = 64,
	/* A key serves no longer. */
	SLEEP_MS = 20,
	/* More than the boots differ by. */
	ALIGNED_FORKS = 1000,
	ALIGNED_SECONDS = 10,
	/* Of a second, at whose end much of the kernel's own work begins, and tasks for it. */
	ALIGNED_MS = 200,
	BEGIN_MS = 500,
	/* More tasks than the kernel itself makes meanwhile. */
	KERNEL_TASKS = 50,
	PHASES = 3,
	/* Of what is known in each: the number of tasks, the time, and the last task's ID. */
	KNOWN = 3,
	/* Of time, in which the ticks of both boots round to the same. */
	ROUNDED_NS = 100000000,
	/* More than a sleep takes too long. */
	AWAKE_US = 25000,
	/* So short that hardly ever a tick falls into it. */
	CLOSE = 20000,
};

/* How many tasks there have been since the kernel started. */
static unsigned long tasks_so_far(void)
{
	FILE *stat = fopen("/proc/stat", "r");
	unsigned long tasks = 0;
	char line[4096];

	if (!stat)
		fail("/proc/stat");
	while (!tasks && fgets(line, sizeof(line), stat))
		if (sscanf(line, "processes %lu", &tasks) != 1)
			tasks = 0;
	fclose(stat);
	return tasks;
}

static void sleep_until(time_t second, long ms)
{
	const struct timespec until = { .tv_sec = second, .tv_nsec = ms * 1000000 };

	if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL))
		fail("clock_nanosleep");
}

/* Run @count instructions, and a few more, which are always as many. */
static void run_instructions(uint64_t count)
{
#if defined(__x86_64__)
	__asm__ volatile("test $1, %0\n\t"
			 "jz 1f\n\t"
			 "nop\n"
			 "1:\tshr $1, %0\n"
			 "2:\tdec %0\n\t"
			 "jnz 2b"
			 : "+r"(count)
			 :
			 : "cc");
#elif defined(__aarch64__)
	__asm__ volatile("tbz %0, #0, 1f\n\t"
			 "nop\n"
			 "1:\tlsr %0, %0, #1\n"
			 "2:\tsubs %0, %0, #1\n\t"
			 "b.ne 2b"
			 : "+r"(count)
			 :
			 : "cc");
#endif
}

/* Go on when the counter has its next value of which the lower half is 0; return it. */
static uint64_t align_counter(uint64_t per_us)
{
	uint64_t target = ((counter() + 2 * AWAKE_US * per_us) >> 32 << 32) + (1ull << 32);
	uint64_t now = counter(), sleep_us = (target - now) / per_us - AWAKE_US;
	const struct timespec nap = { .tv_sec = (time_t)(sleep_us / 1000000),
				      .tv_nsec = (long)(sleep_us % 1000000 * 1000) };

	nanosleep(&nap, NULL);
	do
		now = counter();
	while (now < target - CLOSE);
	/* Unless a tick took longer than there was left. */
	if (now + 2 <= target)
		run_instructions(target - now);
	return counter();
}

/* Return its ID. */
static pid_t make_task(void)
{
	pid_t child = fork_bare();

	if (child == 0)
		_exit(0);
	finish_task(child);
	return child;
}

/* Until @rest is the rest of a division of the number of tasks. */
static void align_tasks(unsigned long rest)
{
	while (tasks_so_far() % ALIGNED_FORKS != rest)
		make_task();
}

/* What both boots should have the same afterwards goes to @known. */
static void align_with_twin(long *known)
{
	struct timespec now;
	time_t second;

	align_tasks(0);
	clock_gettime(CLOCK_MONOTONIC, &now);
	second = (now.tv_sec / ALIGNED_SECONDS + 1) * ALIGNED_SECONDS;
	/* The kernel may make a task in that time, in one of the boots. */
	sleep_until(second, ALIGNED_MS);
	align_tasks(KERNEL_TASKS);
	sleep_until(second, BEGIN_MS);
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	known[0] = (long)tasks_so_far() % ALIGNED_FORKS;
	known[1] = now.tv_sec * (1000000000 / ROUNDED_NS) +
		   (now.tv_nsec + ROUNDED_NS / 2) / ROUNDED_NS;
	known[2] = make_task();
}

static void collect_positions(int probe, size_t calls)
{
	size_t children = (calls + CALLS_PER_CHILD - 1) / CALLS_PER_CHILD;
	long *positions = shared_array(calls), *counters = shared_array(children);
	uint64_t per_us = counts_per_us();

	for (size_t done = 0; done < calls; done += CALLS_PER_CHILD) {
		pid_t child = fork_bare();

		if (child == 0) {
			counters[done / CALLS_PER_CHILD] = (long)align_counter(per_us);
			for (size_t i = done; i < done + CALLS_PER_CHILD && i < calls; i++)
				positions[i] = probe_position(probe);
			_exit(0);
		}
		finish_task(child);
	}
	print_samples("twin_counter", counters, children);
	print_samples("twin_position", positions, calls);
}

/* Go on just after a tick. */
static void begin_group(void)
{
	struct timespec now;
	long ms;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ms = (now.tv_nsec / 1000000 / GROUP_MS + 1) * GROUP_MS;
	sleep_until(now.tv_sec + ms / 1000, ms % 1000);
}

/*
 * A tick or a task more in one of the boots is made good by the next group, or changes some
 * children of each.
 */
static const long *collect_states(int probe, uint64_t symbol, size_t children)
{
	struct births births = no_births(children);

	for (size_t first = 0, end; first < children; first = end) {
		end = first + STATES_PER_GROUP < children ? first + STATES_PER_GROUP : children;
		begin_group();
		add_births(&births, first, end, probe, symbol);
	}
	return births.states;
}

/* A sleeping CPU costs the host nothing. */
static void collect_keys(int probe, uint64_t symbol)
{
	const struct timespec nap = { .tv_nsec = SLEEP_MS * 1000000L };
	long keys[KEYS];

	for (size_t i = 0; i < KEYS; i++) {
		nanosleep(&nap, NULL);
		keys[i] = (long)read_generator(probe, symbol, 0).cpu_state[0];
	}
	print_samples("twin_key", keys, KEYS);
}

/* Where memory is mapped decides how much there is to copy in a fork. */
static void fix_addresses(char **argv)
{
	int had = personality(ADDR_NO_RANDOMIZE);

	if (had < 0)
		fail("personality");
	if (had & ADDR_NO_RANDOMIZE)
		return;
	execv("/proc/self/exe", argv);
	fail("/proc/self/exe");
}

int main(int argc, char **argv)
{
	size_t calls = samples_wanted(argc, argv), children = calls / CALLS_PER_STATE;
	uint64_t symbol = generator_symbol();
	int probe = probe_open();
	long known[PHASES * KNOWN] = { 0 };
	const long *states;

	fix_addresses(argv);
	align_with_twin(known);
	collect_positions(probe, calls);
	if (read_generator(probe, symbol, 0).generator == KSTACK_TEMPER) {
		align_with_twin(known + KNOWN);
		states = collect_states(probe, symbol, children);
		align_with_twin(known + 2 * KNOWN);
		collect_keys(probe, symbol);
		print_samples("twin_state", states, children);
	}
	print_samples("twin_known", known, PHASES * KNOWN);
	return 0;
}
