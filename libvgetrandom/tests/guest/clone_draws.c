// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Description: draws on every path while its virtual machine is cloned.
 *
 * Waits for a byte on the third serial port before it draws. After 'n' and 'g' it stops the machine
 * in mid-run through the port of QEMU's pvpanic: whoever resumes the machine, or copies of it,
 * knows exactly which draws came after. After 'g' it is greedy: it has a higher priority than the
 * kernel's workers, so that on a single CPU nothing handles the notification until it has drawn
 * some rounds.
 *
 * Prints the draws since then as records of the lab, and when each round began.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/io.h>
#include <sys/random.h>
#include <time.h>
#include <vgetrandom.h>

#include "clone.h"

enum {
	PVPANIC_PORT = 0x505,
	PVPANIC_PANICKED = 1,
	BULK_SIZE = 4096,
	/* Divides no buffer, so that the machine stops while all of them are partly drawn. */
	WARM_ROUNDS = 101,
	ROUNDS_AFTERWARDS = 500,
	GREEDY_ROUNDS = 300,
	MAX_ROUNDS = 3000,
};

enum path { SYSTEM_CALL, PASS_THROUGH, BULK, BATCH, PATHS };

static const char *const names[PATHS] = { "system call", "pass-through", "bulk", "batch" };

static uint64_t draws[PATHS][MAX_ROUNDS];
static uint64_t nanoseconds[MAX_ROUNDS];

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t draw_system_call(void)
{
	uint64_t value;

	if (getrandom(&value, sizeof(value), 0) != sizeof(value))
		clone_fail("getrandom");
	return value;
}

static uint64_t draw_pass_through(void)
{
	uint64_t value;

	if (vgetrandom(&value, sizeof(value), 0) != sizeof(value))
		clone_fail("vgetrandom");
	return value;
}

/* Returns the end, which is expanded last. */
static uint64_t draw_bulk(void)
{
	uint64_t values[BULK_SIZE / sizeof(uint64_t)];

	if (vgetrandom(values, sizeof(values), 0) != sizeof(values))
		clone_fail("vgetrandom, bulk");
	return values[BULK_SIZE / sizeof(uint64_t) - 1];
}

/*
 * The system call comes first: once it draws from a new key, so must everything that follows in
 * this round.
 */
static void draw_round(int round)
{
	nanoseconds[round] = now();
	draws[SYSTEM_CALL][round] = draw_system_call();
	draws[PASS_THROUGH][round] = draw_pass_through();
	draws[BULK][round] = draw_bulk();
	draws[BATCH][round] = vgetrandom_batch_u64();
}

static void warm_up(void)
{
	for (int i = 0; i < WARM_ROUNDS; i++)
		draw_round(i);
}

static void print_list(const char *name, const uint64_t *values, int count)
{
	printf("{\"type\":\"samples\",\"name\":\"%s\",\"values\":[", name);
	for (int i = 0; i < count; i++)
		printf("%s%" PRIu64, i ? "," : "", values[i]);
	puts("]}");
}

static void schedule(int policy, int priority)
{
	struct sched_param param = { .sched_priority = priority };

	if (sched_setscheduler(0, policy, &param))
		clone_fail("sched_setscheduler");
}

static void stop_machine(void)
{
	if (ioperm(PVPANIC_PORT, 1, 1))
		clone_fail("ioperm");
	/* Others may have drawn while it read the byte. */
	warm_up();
	outb(PVPANIC_PANICKED, PVPANIC_PORT);
}

/* Returns the first round after the kernel's report, or MAX_ROUNDS if it never came. */
static int draw_until_seen(int kernel_log, int *rounds)
{
	int seen_in = MAX_ROUNDS;

	*rounds = MAX_ROUNDS;
	for (int i = 0; i < *rounds; i++) {
		if (i == GREEDY_ROUNDS)
			schedule(SCHED_OTHER, 0);
		if (seen_in == MAX_ROUNDS && clone_seen(kernel_log)) {
			seen_in = i;
			if (i + ROUNDS_AFTERWARDS < MAX_ROUNDS)
				*rounds = i + ROUNDS_AFTERWARDS;
		}
		draw_round(i);
	}
	return seen_in;
}

int main(void)
{
	int kernel_log = open_kernel_log(), rounds;
	uint64_t seen_in;
	char byte;

	warm_up();
	/* Page faults later would take time. */
	memset(draws, 0, sizeof(draws));
	memset(nanoseconds, 0, sizeof(nanoseconds));
	byte = wait_for_byte();
	if (byte == 'g')
		schedule(SCHED_FIFO, 1);
	if (byte == 'g' || byte == 'n')
		stop_machine();
	seen_in = (uint64_t)draw_until_seen(kernel_log, &rounds);
	print_list("seen in round", &seen_in, 1);
	print_list("nanoseconds", nanoseconds, rounds);
	for (int path = 0; path < PATHS; path++)
		print_list(names[path], draws[path], rounds);
	return 0;
}
