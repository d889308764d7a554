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

/* Keep this process and its children on one CPU, scheduled by a policy of sched(7). */
static inline void share_a_cpu_by(int policy, int priority)
{
	struct sched_param param = { .sched_priority = priority };
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		fail("sched_setaffinity");
	if (sched_setscheduler(0, policy, &param))
		fail("sched_setscheduler");
}

/* As batch tasks, which do not preempt the task that creates or wakes them. */
static inline void share_a_cpu(void)
{
	share_a_cpu_by(SCHED_BATCH, 0);
}

#endif
