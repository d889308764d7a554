/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tasks that draw in parallel: processes, so that they share no state of a task, and
 * shared memory for their results.
 *
 * Define _GNU_SOURCE before including this.
 */
#ifndef SIDE_BY_SIDE_H
#define SIDE_BY_SIDE_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record.h"
#include "task.h"

static inline void need_cpus(long wanted)
{
	long found = sysconf(_SC_NPROCESSORS_ONLN);

	if (found >= wanted)
		return;
	fprintf(stderr, "%ld CPUs are needed, %ld are online\n", wanted, found);
	exit(UNSUPPORTED);
}

/* The file that takes CPU 1 offline and online. */
static inline int open_hotplug(void)
{
	int fd = open("/sys/devices/system/cpu/cpu1/online", O_WRONLY | O_CLOEXEC);

	if (fd < 0) {
		perror("CPU 1 cannot go offline");
		exit(UNSUPPORTED);
	}
	return fd;
}

static inline void take_cpu_down_and_up(int online)
{
	if (pwrite(online, "0", 1, 0) != 1 || pwrite(online, "1", 1, 0) != 1)
		fail("CPU 1");
}

static inline void stay_on_cpu(size_t cpu)
{
	if (!move_to_cpu(cpu))
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
static inline pid_t clone_bare(unsigned long flags)
{
	pid_t child = (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);

	if (child < 0)
		fail("clone");
	return child;
}

static inline pid_t fork_bare(void)
{
	return clone_bare(0);
}

static inline void expect_success(int status)
{
	if (!status)
		return;
	fprintf(stderr, "a task ended with wait status %#x\n", (unsigned int)status);
	exit(1);
}

static inline void finish_task(pid_t child)
{
	expect_success(wait_for(child));
}

#endif
