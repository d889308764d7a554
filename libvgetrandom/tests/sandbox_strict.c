// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * After a prewarm, only read(), write(), exit() and sigreturn() are allowed, and any other system
 * call kills. All ways of drawing must still work, even in signal handlers nested three deep.
 *
 * The vDSO function itself makes a system call when the kernel has reseeded its generator, about
 * once a minute. So the test tries again if it is killed; a library that makes system calls is
 * killed each time.
 */
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
#include <vgetrandom.h>

#include "check.h"
#include "config.h"
#include "sandbox.h"

enum {
	ATTEMPTS = 3,
	/* Nested handlers. */
	DEPTH = 3,
	BYTES_MAX = 1 << 18,
	/* More than a batch holds, and enough to spend most of the time in the vDSO function. */
	NUMBERS = 1000,
	TICK_USEC = 2000,
	ROUNDS = 12,
};

static const size_t sizes[] = { 0, 1, 4, 8, 16, 32, 96, 127, 128, 300, 4096, 65536, BYTES_MAX };

static uint8_t bytes[DEPTH + 1][BYTES_MAX];
static uint64_t results[DEPTH + 1];
static volatile sig_atomic_t depth;
static volatile sig_atomic_t been_at[DEPTH + 2];
static int results_pipe[2];

static void draw_all(int level)
{
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		if (vgetrandom(bytes[level], sizes[i], 0) != (ssize_t)sizes[i])
			__builtin_trap();
		vgetrandom_batch_bytes(bytes[level], sizes[i]);
	}
	for (int i = 0; i < NUMBERS; i++) {
		if (vgetrandom(bytes[level], 32, 0) != 32)
			__builtin_trap();
		results[level] = vgetrandom_batch_u64() + vgetrandom_batch_u32();
	}
}

/* Draws until the timer has interrupted it and the handler has returned. */
static void draw_until_interrupted(int level)
{
	been_at[level + 1] = false;
	do
		draw_all(level);
	while (!been_at[level + 1]);
}

static void tick(int signal)
{
	(void)signal;
	if (depth == DEPTH)
		return;
	depth++;
	if (depth == DEPTH)
		draw_all(depth);
	else
		draw_until_interrupted(depth);
	been_at[depth] = true;
	depth--;
}

static void start_timer(void)
{
	struct sigaction action = { .sa_handler = tick, .sa_flags = SA_NODEFER };
	struct itimerval interval = { { 0, TICK_USEC }, { 0, TICK_USEC } };

	check(!sigaction(SIGALRM, &action, NULL), "no handler");
	check(!setitimer(ITIMER_REAL, &interval, NULL), "no timer");
}

/* libc's exit ends all threads, with a system call that is not allowed. */
static void end_thread(void)
{
	syscall(SYS_exit, EXIT_SUCCESS);
}

static void draw_in_sandbox(void)
{
	int err = vgetrandom_prewarm();

	check(!err, "error %d", err);
	start_timer();
	check(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT), "no seccomp");
	for (int round = 0; round < ROUNDS; round++)
		draw_until_interrupted(0);
	if (write(results_pipe[1], results, sizeof(results)) == sizeof(results))
		end_thread();
}

/* What a library would do that makes a system call despite its promise. */
static void call_in_sandbox(void)
{
	check(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT), "no seccomp");
	syscall(SYS_getpid);
	end_thread();
}

static bool survives(void (*function)(void))
{
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		int status = run_alone(function);

		if (WIFEXITED(status)) {
			check(!WEXITSTATUS(status), "the child failed");
			return true;
		}
		check(WTERMSIG(status) == SIGKILL, "the child died of signal %d", WTERMSIG(status));
	}
	return false;
}

int main(void)
{
	uint64_t got[DEPTH + 1];

	vgr_config_need();
	if (!vgr_config.vdso)
		cannot_run("the kernel has no vDSO getrandom");
	check(!pipe(results_pipe), "no pipe");
	check(!survives(call_in_sandbox), "system calls are not noticed");
	check(survives(draw_in_sandbox), "killed for a system call, %d times", ATTEMPTS);
	check(read(results_pipe[0], got, sizeof(got)) == sizeof(got), "no results");
	for (int i = 0; i <= DEPTH; i++) {
		check(got[i], "nothing was drawn at depth %d", i);
		for (int j = 0; j < i; j++)
			check(got[i] != got[j], "the same at depth %d and %d", i, j);
	}
	return 0;
}
