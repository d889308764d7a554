// SPDX-License-Identifier: Apache-2.0
/*
 * Description: times context switches between two tasks that share a pipe.
 *
 * The pipe holds one packet. So each write waits until the reader has taken the
 * previous packet, and each read waits until there is one: a packet takes two switches.
 * The program checks this against the kernel's own count.
 *
 * Usage: ctx pipe PACKETS WARMUP
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/arch.h"
#include "one_cpu.h"
#include "sample.h"

enum { SWITCHES_PER_PACKET = 2 };

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void read_packets(int fd, uint64_t count)
{
	char packet;

	while (count--)
		if (read(fd, &packet, 1) != 1)
			fail("read");
}

static void write_packet(int fd)
{
	if (write(fd, "", 1) != 1)
		fail("write");
}

static void time_packets(struct samples *s, int fd, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t begin = clock_begin(), value;

		write_packet(fd);
		value = clock_end() - begin;
		samples_add(s, value, tick_clock());
	}
}

static uint64_t switches(int who)
{
	struct rusage usage;

	if (getrusage(who, &usage))
		fail("getrusage");
	return (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
}

static void open_pipe(int fds[2])
{
	/* In packet mode a slot holds one write, and a pipe of one page has one slot. */
	if (pipe2(fds, O_DIRECT) || fcntl(fds[1], F_SETPIPE_SZ, getpagesize()) < 0)
		fail("pipe");
}

static void check_switches(uint64_t seen, uint64_t packets)
{
	uint64_t expected = packets * SWITCHES_PER_PACKET;
	/* Switches for ticks and other tasks, and for the start and end of both tasks. */
	uint64_t others = expected / 100 + 16;

	if (seen + others >= expected && seen <= expected + others)
		return;
	fprintf(stderr, "%llu packets took %llu context switches, not %llu\n",
		(unsigned long long)packets, (unsigned long long)seen,
		(unsigned long long)expected);
	exit(1);
}

int main(int argc, char **argv)
{
	struct samples *warm, *s;
	struct workload w;
	int fds[2], status;
	uint64_t begin;
	pid_t reader;

	if (argc != 4 || strcmp(argv[1], "pipe")) {
		fprintf(stderr, "usage: %s pipe PACKETS WARMUP\n", argv[0]);
		return 1;
	}
	w = (struct workload){
		.name = "ctx/pipe",
		.count = strtoull(argv[2], NULL, 10),
		.warmup = strtoull(argv[3], NULL, 10),
		.operations = SWITCHES_PER_PACKET,
		.overhead = clock_overhead(),
	};
	/*
	 * On two CPUs there is nothing to switch. A reader that preempts the writer
	 * makes a packet take one switch or three, as the scheduler decides.
	 */
	share_a_cpu();
	open_pipe(fds);
	s = samples_create();
	warm = samples_create();
	reader = fork();
	if (reader < 0)
		fail("fork");
	if (reader == 0) {
		close(fds[1]);
		read_packets(fds[0], w.warmup + w.count);
		_exit(0);
	}
	time_packets(warm, fds[1], w.warmup);

	samples_begin(s);
	marker_begin();
	begin = clock_begin();
	time_packets(s, fds[1], w.count);
	w.elapsed = clock_end() - begin;
	marker_end();
	samples_end(s);

	if (waitpid(reader, &status, 0) != reader || status)
		fail("reader");
	check_switches(switches(RUSAGE_SELF) + switches(RUSAGE_CHILDREN), w.warmup + w.count);
	samples_print(s, &w);
	samples_destroy(warm);
	samples_destroy(s);
	return 0;
}
