// SPDX-License-Identifier: GPL-2.0
/*
 * Description: lets NMIs rain on tasks that block in six ways.
 *
 * Each CPU has three counters of cycles whose periods have no common divisor, so their
 * NMIs come at ever other instructions. Pairs of tasks take turns, each pair by other
 * means, so stacks of many depths are switched. A kernel that mixes them up dies.
 *
 * Usage: storm SECONDS
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "record.h"
#include "task.h"

static const uint64_t periods[] = { 100003, 150001, 200003 };

enum { KINDS = 6 };

struct turns {
	atomic_int whose;
	atomic_long done;
};

struct pair {
	int to[2];   /* to whom a byte is written */
	int from[2]; /* by whom it is read */
	struct turns *turns;
};

static void must(bool done, const char *what)
{
	if (!done) {
		fprintf(stderr, "storm: %s failed\n", what);
		_exit(1);
	}
}

static void by_pipe(const struct pair *pair, int me)
{
	(void)pair, (void)me; /* read() blocks */
}

static void by_poll(const struct pair *pair, int me)
{
	struct pollfd wanted = { .fd = pair->from[me], .events = POLLIN };

	must(poll(&wanted, 1, -1) == 1, "poll");
}

static void by_select(const struct pair *pair, int me)
{
	fd_set wanted;

	FD_ZERO(&wanted);
	FD_SET(pair->from[me], &wanted);
	must(select(pair->from[me] + 1, &wanted, NULL, NULL, NULL) == 1, "select");
}

static void by_epoll(const struct pair *pair, int me)
{
	static int epoll = -1;
	struct epoll_event event = { .events = EPOLLIN };

	if (epoll < 0) {
		epoll = epoll_create1(0);
		must(!epoll_ctl(epoll, EPOLL_CTL_ADD, pair->from[me], &event), "epoll_ctl");
	}
	must(epoll_wait(epoll, &event, 1, -1) == 1, "epoll_wait");
}

static void by_futex(const struct pair *pair, int me)
{
	int other = !me;

	while (atomic_load(&pair->turns->whose) == other)
		syscall(SYS_futex, &pair->turns->whose, FUTEX_WAIT, other, NULL);
}

static const struct kind {
	const char *name;
	void (*wait)(const struct pair *pair, int me);
} kinds[KINDS] = {
	{ "pipe", by_pipe },   { "poll", by_poll },   { "socket", by_pipe },
	{ "epoll", by_epoll }, { "futex", by_futex }, { "select", by_select },
};

static void __attribute__((noreturn)) take_turns(const struct kind *kind, struct pair *pair, int me)
{
	bool futex = kind->wait == by_futex;
	char byte = 0;

	for (;;) {
		kind->wait(pair, me);
		if (!futex)
			must(read(pair->from[me], &byte, 1) == 1, "read");
		atomic_fetch_add(&pair->turns->done, 1);
		if (!futex) {
			must(write(pair->to[me], &byte, 1) == 1, "write");
			continue;
		}
		atomic_store(&pair->turns->whose, !me);
		syscall(SYS_futex, &pair->turns->whose, FUTEX_WAKE, 1);
	}
}

static void connect_pair(const struct kind *kind, struct pair *pair)
{
	int there[2], back[2];

	if (!strcmp(kind->name, "socket")) {
		must(!socketpair(AF_UNIX, SOCK_STREAM, 0, there), "socketpair");
		*pair = (struct pair){ .to = { there[0], there[1] },
				       .from = { there[0], there[1] },
				       .turns = pair->turns };
		return;
	}
	must(!pipe(there) && !pipe(back), "pipe");
	pair->to[0] = there[1];
	pair->from[1] = there[0];
	pair->to[1] = back[1];
	pair->from[0] = back[0];
}

static void start_pair(const struct kind *kind, struct turns *turns, size_t cpu)
{
	struct pair pair = { .turns = turns };

	connect_pair(kind, &pair);
	for (int me = 0; me < 2; me++) {
		if (start_task())
			continue;
		must(move_to_cpu(cpu), "sched_setaffinity");
		take_turns(kind, &pair, me);
	}
	if (kind->wait != by_futex)
		must(write(pair.to[1], "", 1) == 1, "write");
}

/* Returns false on a kernel that does not count cycles. */
static bool count_cycles(int cpu, uint64_t period)
{
	struct perf_event_attr counter = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(counter),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.sample_period = period,
	};

	return syscall(SYS_perf_event_open, &counter, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC) >= 0;
}

/* All interrupts of the counters, on all CPUs. */
static long nmis(void)
{
	FILE *file = fopen("/proc/interrupts", "r");
	char line[512];
	long sum = 0;

	while (file && fgets(line, sizeof(line), file)) {
		char *at = strchr(line, ':');

		if (!at || !strstr(line, "arm-pmu"))
			continue;
		for (char *end = ++at; sum += strtol(at, &end, 10), end != at;)
			at = end;
	}
	if (file)
		fclose(file);
	return sum;
}

static void unthrottle(void)
{
	FILE *file = fopen("/proc/sys/kernel/perf_cpu_time_max_percent", "w");

	must(file && fputs("0", file) >= 0 && !fclose(file), "perf_cpu_time_max_percent");
}

static void report(const struct turns *turns)
{
	long rained = nmis();

	for (int kind = 0; kind < KINDS; kind++) {
		long done = atomic_load(&turns[kind].done);
		char name[32];

		snprintf(name, sizeof(name), "done/%s", kinds[kind].name);
		print_samples(name, &done, 1);
	}
	print_samples("nmis", &rained, 1);
}

int main(int argc, char **argv)
{
	unsigned int seconds = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : 0;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct turns *turns = mmap(NULL, KINDS * sizeof(*turns), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	must(turns != MAP_FAILED, "mmap");
	unthrottle();
	for (int cpu = 0; cpu < cpus; cpu++)
		for (size_t i = 0; i < sizeof(periods) / sizeof(*periods); i++)
			if (!count_cycles(cpu, periods[i]))
				return UNSUPPORTED;
	for (int kind = 0; kind < KINDS; kind++)
		start_pair(&kinds[kind], &turns[kind], kind % cpus);
	while ((seconds = sleep(seconds)))
		;
	report(turns);
	return 0;
}
