// SPDX-License-Identifier: GPL-2.0
/*
 * Description: makes every CPU write to page tables all the time, in sections of functions
 * that a debugger can find.
 *
 * On each CPU a process writes to a page that it shares with a child, which has the kernel
 * copy it, and to one that it shares no more, which has the kernel make it writable again.
 * It ends when this process has another parent: the debugger outside tells it so.
 *
 * Usage: sections SAMPLES ATTACK
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <time.h>

#include "record.h"
#include "task.h"

enum { NAP_NS = 200000, LONGEST_S = 900 };

/* One for each process, and one for all. */
static volatile char *page, *enough;

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
}

static void end_child(pid_t child)
{
	kill(child, SIGKILL);
	wait_for(child);
}

static void write_while_shared(void)
{
	pid_t child = start_task();

	while (child == 0)
		pause();
	++*page;
	end_child(child);
}

static void write_when_no_longer_shared(void)
{
	pid_t child = start_task();

	if (child == 0)
		_exit(0);
	wait_for(child);
	++*page;
}

static void __attribute__((noreturn)) write_on(size_t cpu)
{
	if (!move_to_cpu(cpu))
		fail("sched_setaffinity");
	while (!*enough) {
		write_while_shared();
		write_when_no_longer_shared();
	}
	_exit(0);
}

static volatile char *new_page(int sharing)
{
	void *new = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
			 sharing | MAP_ANONYMOUS, -1, 0);

	if (new == MAP_FAILED)
		fail("mmap");
	return new;
}

int main(void)
{
	pid_t parent = getppid();
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	time_t end = time(NULL) + LONGEST_S;

	page = new_page(MAP_PRIVATE);
	enough = new_page(MAP_SHARED);
	for (long cpu = 0; cpu < cpus; cpu++)
		if (!start_task())
			write_on(cpu);
	while (getppid() == parent) {
		if (time(NULL) > end) {
			fprintf(stderr, "nobody said for %d s that this is enough\n", LONGEST_S);
			return 1;
		}
		nap();
	}
	/* Their children must not outlive them, and know that only once they run. */
	*enough = 1;
	while (cpus--)
		if (wait(NULL) < 0)
			fail("wait");
	return 0;
}
