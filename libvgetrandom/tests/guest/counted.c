// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Description: counts with a tracer how many system calls draws take on this kernel.
 *
 * Usage: counted vdso|system-calls
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vgetrandom.h>

#include "expected.h"

enum {
	ROUNDS = 500,
	PATHS = 2,
	/* After a boot the kernel reseeds every few seconds, which costs every state a call. */
	RESEEDS = 50,
};

static void __attribute__((noreturn)) draw(void)
{
	uint8_t buf[4096];

	vgetrandom_prewarm();
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	for (int i = 0; i < ROUNDS; i++) {
		check(vgetrandom(buf, 8, 0) == 8, "vgetrandom");
		check(vgetrandom(buf, sizeof(buf), 0) == sizeof(buf), "vgetrandom");
	}
	_exit(EXIT_SUCCESS);
}

/* Counts the child's calls until it ends. */
static int count_calls(pid_t child)
{
	struct __ptrace_syscall_info info;
	int status, calls = 0;

	check(waitpid(child, &status, 0) == child && WIFSTOPPED(status), "status %#x", status);
	ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)PTRACE_O_TRACESYSGOOD);
	for (;;) {
		check(!ptrace(PTRACE_SYSCALL, child, NULL, NULL), "ptrace: %s", strerror(errno));
		check(waitpid(child, &status, 0) == child, "waitpid: %s", strerror(errno));
		if (!WIFSTOPPED(status))
			break;
		check(WSTOPSIG(status) == (SIGTRAP | 0x80), "status %#x", status);
		check(ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof(info), &info) > 0, "%s",
		      strerror(errno));
		if (info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr != SYS_exit_group) {
			check(info.entry.nr == SYS_getrandom, "system call %d", (int)info.entry.nr);
			calls++;
		}
	}
	check(!status, "child: %#x", status);
	return calls;
}

int main(int argc, char **argv)
{
	bool vdso = vdso_expected(argc, argv);
	pid_t child = fork();
	int calls;

	check(child >= 0, "fork: %s", strerror(errno));
	if (!child)
		draw();
	calls = count_calls(child);
	printf("%d system calls for %d draws\n", calls, PATHS * ROUNDS);
	if (vdso)
		check(calls <= RESEEDS, "%d", calls);
	else
		check(calls == PATHS * ROUNDS, "%d", calls);
	return 0;
}
