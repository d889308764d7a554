/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tasks that draw in parallel: processes, so that they share no state of a task, and
 * shared memory for their results.
 *
 * Define _GNU_SOURCE before including this.
 */
#ifndef TASK_H
#define TASK_H

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { UNSUPPORTED = 77 };

static inline void __attribute__((noreturn)) fail(const char *what)
{
	perror(what);
	exit(1);
}

static inline void need_cpus(long wanted)
{
	long found = sysconf(_SC_NPROCESSORS_ONLN);

	if (found >= wanted)
		return;
	fprintf(stderr, "%ld CPUs are needed, %ld are online\n", wanted, found);
	exit(UNSUPPORTED);
}

/* Return whether it succeeded: a task cannot run on a CPU that is offline. */
static inline int try_cpu(size_t cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	return !sched_setaffinity(0, sizeof(cpus), &cpus);
}

static inline void stay_on_cpu(size_t cpu)
{
	if (!try_cpu(cpu))
		fail("sched_setaffinity");
}

static inline void *shared(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (!size || memory == MAP_FAILED)
		fail("shared memory");
	return memory;
}

static inline long *shared_array(size_t count)
{
	return shared(count * sizeof(long));
}

/*
 * Not fork(), because the C library makes system calls of its own in the child: parent
 * and child would no longer be the same number of calls after the fork.
 */
static inline pid_t fork_bare(void)
{
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (child < 0)
		fail("clone");
	return child;
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

static inline void wait_for(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child)
		fail("waitpid");
	if (!status)
		return;
	fprintf(stderr, "a task ended with wait status %#x\n", (unsigned int)status);
	exit(1);
}

#endif
