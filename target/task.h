/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Further processes of the attacker, and the CPU that it runs on.
 *
 * Define _GNU_SOURCE before including this.
 */
#ifndef TEMPER_TASK_H
#define TEMPER_TASK_H

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static inline void __attribute__((noreturn)) fail(const char *what)
{
	perror(what);
	exit(1);
}

/* Return whether it succeeded: the CPU may be offline, or there may be no such CPU. */
static inline bool move_to_cpu(size_t cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	return !sched_setaffinity(0, sizeof(cpus), &cpus);
}

/* Start a child that does not outlive a parent that fails. */
static inline pid_t start_task(void)
{
	pid_t child = fork();

	if (child < 0)
		fail("fork");
	if (child == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return child;
}

/* Return its wait status. */
static inline int wait_for(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child)
		fail("waitpid");
	return status;
}

#endif
