// SPDX-License-Identifier: GPL-2.0
/*
 * Description: collects stack positions during events that could make tasks share
 * offsets, repeat them or skip a draw: migration, forks, CPU hotplug, and timer
 * interrupts.
 *
 * Every task writes its positions to an array of its own, in order; the number of the
 * task is the group of its samples.
 *
 * Usage: storm CALLS (of each kind of storm; as many forks)
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <time.h>

#include "probe.h"
#include "record.h"
#include "side_by_side.h"

enum {
	CPUS = 2,
	MIGRATING_TASKS = 4,
	CALLS_PER_HOP = 16,
	CALLS_PER_FORK = 4,
	HOTPLUG_CYCLES = 5,
	TIMER_NS = 100000,
	ATTEMPTS = 1000,
};

/* What @tasks tasks draw: @each positions of the first task, then of the second, ... */
struct draws {
	size_t tasks;
	size_t each;
	long *positions;
};

static struct draws draws_create(size_t tasks, size_t calls)
{
	size_t each = calls / tasks;

	return (struct draws){ .tasks = tasks,
			       .each = each,
			       .positions = shared_array(tasks * each) };
}

static void draws_destroy(struct draws *d)
{
	munmap(d->positions, d->tasks * d->each * sizeof(*d->positions));
}

static long *draws_of(const struct draws *d, size_t task)
{
	return d->positions + task * d->each;
}

static void print_draws(const struct draws *d, const char *position, const char *group)
{
	size_t total = d->tasks * d->each;
	long *groups = array(total);

	for (size_t i = 0; i < total; i++)
		groups[i] = (long)(i / d->each);
	print_samples(position, d->positions, total);
	print_samples(group, groups, total);
	free(groups);
}

static void migrate(int probe, const struct draws *d, size_t task)
{
	long *positions = draws_of(d, task);

	for (size_t i = 0; i < d->each; i++) {
		if (i % CALLS_PER_HOP == 0)
			stay_on_cpu((task + i / CALLS_PER_HOP) % CPUS);
		positions[i] = probe_position(probe);
	}
	exit(0);
}

static void storm_of_migration(int probe, size_t calls)
{
	struct draws d = draws_create(MIGRATING_TASKS, calls);
	pid_t tasks[MIGRATING_TASKS];

	for (size_t i = 0; i < d.tasks; i++) {
		tasks[i] = start_task();
		if (tasks[i] == 0)
			migrate(probe, &d, i);
	}
	for (size_t i = 0; i < d.tasks; i++)
		finish_task(tasks[i]);
	print_draws(&d, "migration_position", "migration_group");
	draws_destroy(&d);
}

static void draw_after_fork(int probe, long *positions)
{
	for (size_t i = 0; i < CALLS_PER_FORK; i++)
		positions[i] = probe_position(probe);
}

/* On one CPU, where parent and child have most in common. */
static void storm_of_forks(int probe, size_t forks)
{
	static const long shape[] = { CALLS_PER_FORK };
	size_t drawn = forks * CALLS_PER_FORK;
	long *parent = shared_array(drawn), *child = shared_array(drawn);

	stay_on_cpu(0);
	for (size_t i = 0; i < drawn; i += CALLS_PER_FORK) {
		pid_t task = fork_bare();

		if (task == 0) {
			draw_after_fork(probe, child + i);
			_exit(0);
		}
		draw_after_fork(probe, parent + i);
		finish_task(task);
	}
	print_definition("fork_shape", shape, 1);
	print_samples("fork_parent", parent, drawn);
	print_samples("fork_child", child, drawn);
	munmap(parent, drawn * sizeof(*parent));
	munmap(child, drawn * sizeof(*child));
}

/* The kernel moves the task off a CPU that goes offline; the task returns with the CPU. */
static void draw_through_hotplug(int probe, const struct draws *d, size_t task,
				 const atomic_size_t *allowed)
{
	long *positions = draws_of(d, task);

	for (size_t i = 0; i < d->each; i++) {
		while (i >= atomic_load(allowed))
			usleep(1000);
		if (i % CALLS_PER_HOP == 0)
			move_to_cpu(task % CPUS);
		positions[i] = probe_position(probe);
	}
	exit(0);
}

/* @allowed: how many positions each task may draw so far, so that none finishes early. */
static void switch_cpu(int online, atomic_size_t *allowed, size_t each)
{
	for (size_t i = 1; i <= HOTPLUG_CYCLES * 2; i++) {
		atomic_store(allowed, each * i / (HOTPLUG_CYCLES * 2));
		if (pwrite(online, i % 2 ? "0" : "1", 1, 0) != 1)
			fail("CPU 1");
	}
}

static void storm_of_hotplug(int probe, int online, size_t calls)
{
	struct draws d = draws_create(CPUS, calls);
	atomic_size_t *allowed = shared(sizeof(*allowed));
	pid_t tasks[CPUS];

	for (size_t i = 0; i < d.tasks; i++) {
		tasks[i] = start_task();
		if (tasks[i] == 0)
			draw_through_hotplug(probe, &d, i, allowed);
	}
	switch_cpu(online, allowed, d.each);
	for (size_t i = 0; i < d.tasks; i++)
		finish_task(tasks[i]);
	print_draws(&d, "hotplug_position", "hotplug_group");
	munmap(allowed, sizeof(*allowed));
	draws_destroy(&d);
}

static volatile sig_atomic_t interrupted;

static void on_timer(int number)
{
	(void)number;
	interrupted = 1;
}

static void start_timer(void)
{
	struct sigaction action = { .sa_handler = on_timer, .sa_flags = SA_RESTART };
	struct timespec often = { .tv_nsec = TIMER_NS };
	struct itimerspec setting = { .it_interval = often, .it_value = often };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	timer_t timer;

	if (sigaction(SIGALRM, &action, NULL))
		fail("sigaction");
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &setting, NULL))
		fail("timer");
}

/* Try again if none came: on a busy host, a CPU's timers may be late and its calls not. */
static void draw_under_interrupts(int probe, const struct draws *d, size_t task)
{
	long *positions = draws_of(d, task);

	stay_on_cpu(task % CPUS);
	start_timer();
	for (size_t attempt = 0; attempt < ATTEMPTS; attempt++) {
		interrupted = 0;
		for (size_t i = 0; i < d->each; i++)
			positions[i] = probe_position(probe);
		if (interrupted)
			exit(0);
	}
	fputs("no timer interrupt came\n", stderr);
	exit(1);
}

static void storm_of_interrupts(int probe, size_t calls)
{
	struct draws d = draws_create(CPUS, calls);
	pid_t tasks[CPUS];

	for (size_t i = 0; i < d.tasks; i++) {
		tasks[i] = start_task();
		if (tasks[i] == 0)
			draw_under_interrupts(probe, &d, i);
	}
	for (size_t i = 0; i < d.tasks; i++)
		finish_task(tasks[i]);
	print_draws(&d, "interrupts_position", "interrupts_group");
	draws_destroy(&d);
}

int main(int argc, char **argv)
{
	size_t calls = samples_wanted(argc, argv);
	int probe = probe_open(), online;

	need_cpus(CPUS);
	online = open_hotplug();
	/* Or children print the parent's buffered output again. */
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	storm_of_migration(probe, calls);
	storm_of_hotplug(probe, online, calls);
	storm_of_interrupts(probe, calls);
	/* Last, because it stays on one CPU. */
	storm_of_forks(probe, calls);
	return 0;
}
