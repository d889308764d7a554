// SPDX-License-Identifier: GPL-2.0
/*
 * Description: collects the stack positions of two processes that take turns on one
 * CPU: an attacker, who sees only the attacker's own positions, and a victim, whose
 * next positions the attacker is to predict.
 *
 * There are always two system calls between turns: a process that is done wakes the
 * other and goes to sleep. Both have a real-time priority, so neither preempts the
 * other, and the victim is asleep before the first turn begins.
 *
 * Usage: across_tasks CALLS (of the attacker)
 */
#define _GNU_SOURCE
#include "probe.h"
#include "record.h"
#include "side_by_side.h"

enum { ATTACKER_CALLS = 200, VICTIM_CALLS = 32 };

static void draw(int probe, long *positions, size_t count)
{
	for (size_t i = 0; i < count; i++)
		positions[i] = probe_position(probe);
}

static void hand_over(int fd)
{
	if (write(fd, "", 1) != 1)
		fail("write");
}

static void await_turn(int fd)
{
	char token;

	if (read(fd, &token, 1) != 1)
		fail("read");
}

static void be_victim(int probe, const int turn[2], const int back[2], long *positions,
		      size_t rounds)
{
	close(turn[1]);
	close(back[0]);
	hand_over(back[1]);
	for (size_t i = 0; i < rounds; i++) {
		await_turn(turn[0]);
		draw(probe, positions + i * VICTIM_CALLS, VICTIM_CALLS);
		hand_over(back[1]);
	}
	exit(0);
}

static void be_attacker(int probe, const int turn[2], const int back[2], long *positions,
			size_t rounds)
{
	close(turn[0]);
	close(back[1]);
	await_turn(back[0]);
	for (size_t i = 0; i < rounds; i++) {
		draw(probe, positions + i * ATTACKER_CALLS, ATTACKER_CALLS);
		hand_over(turn[1]);
		await_turn(back[0]);
	}
}

static void share_a_cpu(void)
{
	struct sched_param lowest = { .sched_priority = 1 };

	stay_on_cpu(0);
	if (sched_setscheduler(0, SCHED_FIFO, &lowest))
		fail("sched_setscheduler");
}

int main(int argc, char **argv)
{
	static const long shape[] = { ATTACKER_CALLS, VICTIM_CALLS };
	size_t rounds = samples_wanted(argc, argv) / ATTACKER_CALLS;
	long *attacker = array(rounds * ATTACKER_CALLS);
	long *victim = shared_array(rounds * VICTIM_CALLS);
	int probe = probe_open(), turn[2], back[2];
	pid_t task;

	share_a_cpu();
	if (pipe(turn) || pipe(back))
		fail("pipe");
	task = start_task();
	if (task == 0)
		be_victim(probe, turn, back, victim, rounds);
	be_attacker(probe, turn, back, attacker, rounds);
	finish_task(task);

	print_definition("across_shape", shape, 2);
	print_samples("attacker_position", attacker, rounds * ATTACKER_CALLS);
	print_samples("victim_position", victim, rounds * VICTIM_CALLS);
	free(attacker);
	return 0;
}
