// SPDX-License-Identifier: Apache-2.0
/*
 * Description: times context switches between two tasks on one CPU, a round at a time:
 * to the other task and back.
 *
 *   pipe   A packet goes through a pipe that holds one. So each write waits until the
 *          reader has taken the previous packet, and each read until there is one.
 *   clock  Both tasks call sched_yield(), so a switch is one system call and nothing else.
 *
 * The program checks by the kernel's own counts that each task switches once a round.
 *
 * Usage: ctx pipe|clock ROUNDS WARMUP
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/arch.h"
#include "one_cpu.h"
#include "sample.h"

enum { SWITCHES_PER_ROUND = 2 };

struct word {
	const char *name;
	const char *workload;
	void (*prepare)(void);
	void (*time)(struct samples *s, uint64_t rounds);
	void (*answer)(uint64_t rounds); /* what the other task does meanwhile */
};

static int packets[2];

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* Inlined, so that no sample has a call through a pointer. */
static inline __attribute__((always_inline)) void time_rounds(struct samples *s, uint64_t rounds,
							      void (*round)(int fd), int fd)
{
	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t begin = clock_begin(), value;

		round(fd);
		value = clock_end() - begin;
		samples_add(s, value, tick_clock());
	}
}

static void open_pipe(void)
{
	/*
	 * On two CPUs there is nothing to switch. A reader that preempts the writer
	 * makes a packet take one switch or three, as the scheduler decides.
	 */
	share_a_cpu();
	/* In packet mode a slot holds one write, and a pipe of one page has one slot. */
	if (pipe2(packets, O_DIRECT) || fcntl(packets[1], F_SETPIPE_SZ, getpagesize()) < 0)
		fail("pipe");
}

static void write_packet(int fd)
{
	if (write(fd, "", 1) != 1)
		fail("write");
}

static void time_packets(struct samples *s, uint64_t rounds)
{
	time_rounds(s, rounds, write_packet, packets[1]);
}

static void read_packets(uint64_t rounds)
{
	char packet;

	close(packets[1]);
	while (rounds--)
		if (read(packets[0], &packet, 1) != 1)
			fail("read");
}

/*
 * Of tasks with the same real-time priority, the one that yields goes behind the other,
 * on every kernel. Whether an ordinary task hands over is up to the kernel: Linux 6.12.117
 * does so, but a third of the switch is then the accounting of shares, and one in 250
 * takes another path.
 */
static void take_turns(void)
{
	share_a_cpu_by(SCHED_FIFO, 1);
}

static void yield(int fd)
{
	(void)fd;
	if (sched_yield())
		fail("sched_yield");
}

static void time_yields(struct samples *s, uint64_t rounds)
{
	time_rounds(s, rounds, yield, -1);
}

static void yield_back(uint64_t rounds)
{
	while (rounds--)
		yield(-1);
}

static const struct word words[] = {
	{ "pipe", "ctx/pipe", open_pipe, time_packets, read_packets },
	{ "clock", "ctx/clock", take_turns, time_yields, yield_back },
};

static const struct word *find_word(const char *name)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i].name, name))
			return &words[i];
	return NULL;
}

/* The other task must have ended. */
static void check_switches(const char *task, int who, uint64_t rounds)
{
	/* Switches for ticks and other tasks, and for the start and end of the task. */
	uint64_t others = rounds / 100 + 8, seen;
	struct rusage usage;

	if (getrusage(who, &usage))
		fail("getrusage");
	seen = (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
	if (seen + others >= rounds && seen <= rounds + others)
		return;
	fprintf(stderr, "%s took %llu context switches for %llu rounds\n", task,
		(unsigned long long)seen, (unsigned long long)rounds);
	exit(1);
}

int main(int argc, char **argv)
{
	const struct word *word = argc == 4 ? find_word(argv[1]) : NULL;
	struct samples *warm, *s;
	struct workload w;
	uint64_t begin;
	pid_t other;
	int status;

	if (!word) {
		fprintf(stderr, "usage: %s pipe|clock ROUNDS WARMUP\n", argv[0]);
		return 1;
	}
	w = (struct workload){
		.name = word->workload,
		.count = strtoull(argv[2], NULL, 10),
		.warmup = strtoull(argv[3], NULL, 10),
		.operations = SWITCHES_PER_ROUND,
		.overhead = clock_overhead(),
	};
	word->prepare();
	s = samples_create();
	warm = samples_create();
	other = fork();
	if (other < 0)
		fail("fork");
	if (other == 0) {
		word->answer(w.warmup + w.count);
		_exit(0);
	}
	word->time(warm, w.warmup);

	samples_begin(s);
	marker_begin();
	begin = clock_begin();
	word->time(s, w.count);
	w.elapsed = clock_end() - begin;
	marker_end();
	samples_end(s);

	if (waitpid(other, &status, 0) != other || status)
		fail("the other task");
	check_switches("this task", RUSAGE_SELF, w.warmup + w.count);
	check_switches("the other task", RUSAGE_CHILDREN, w.warmup + w.count);
	samples_print(s, &w);
	samples_destroy(warm);
	samples_destroy(s);
	return 0;
}
