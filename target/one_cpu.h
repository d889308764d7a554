/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks that take turns on one CPU.
 *
 * Define _GNU_SOURCE before including this, and provide a fail() that says what failed.
 */
#ifndef TEMPER_ONE_CPU_H
#define TEMPER_ONE_CPU_H

#include <sched.h>

static void fail(const char *what);

/*
 * Keep this process and its children on one CPU, as batch tasks, which do not preempt
 * the task that creates or wakes them.
 */
static inline void share_a_cpu(void)
{
	struct sched_param no_priority = { 0 };
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		fail("sched_setaffinity");
	if (sched_setscheduler(0, SCHED_BATCH, &no_priority))
		fail("sched_setscheduler");
}

#endif
