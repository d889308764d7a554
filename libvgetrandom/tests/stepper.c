// SPDX-License-Identifier: MIT OR Apache-2.0
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "stepper.h"

#ifdef __GLIBC__
typedef enum __ptrace_request ptrace_request;
#else
typedef int ptrace_request;
#endif

enum {
	/* Processes that are not traced ignore it. */
	MARK = SIGURG,
	SYSTEM_CALL_STOP = SIGTRAP | 0x80,
	/* Stepping this far from an instruction with few visits is faster than breakpoints. */
	STEPS_MAX = 64,
	VISITS_UNKNOWN = 1 << 30,
};

static pid_t marked;
/* The signal for the child when it continues. */
static int pending;

/* A record ends where this is called, so that must not vanish in link-time optimization. */
__attribute__((noinline)) void stepper_mark(void)
{
	if (marked)
		syscall(SYS_tkill, marked, MARK);
}

void stepper_untraced(void)
{
	marked = 0;
}

static uintptr_t pc_of(pid_t pid)
{
	struct user_regs_struct regs;
	struct iovec whole = { &regs, sizeof(regs) };

	check(!ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &whole), "%s", strerror(errno));
#if defined(__x86_64__)
	return regs.rip;
#else
	return regs.pc;
#endif
}

/* Stops the child whenever it reaches pc; 0 for nowhere. Returns false if the machine cannot. */
static bool break_at(pid_t pid, uintptr_t pc)
{
#if defined(__x86_64__)
	enum { ENABLE_FIRST = 1 };

	return !ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[0]), pc) &&
	       !ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[7]),
		       pc ? ENABLE_FIRST : 0);
#else
	(void)pid;
	return !pc;
#endif
}

static int go_on(pid_t pid, int how)
{
	int signal = pending, status;

	pending = 0;
	check(!ptrace((ptrace_request)how, pid, NULL, (void *)(long)signal), "%s", strerror(errno));
	check(waitpid(pid, &status, 0) == pid, "%s", strerror(errno));
	return status;
}

static bool is_ours(int signal)
{
	return signal == MARK || signal == SIGTRAP || signal == SYSTEM_CALL_STOP;
}

/* Returns the signal at which the child stopped: MARK, SIGTRAP or SYSTEM_CALL_STOP. */
static int go_on_to_stop(pid_t pid, int how)
{
	for (;;) {
		int status = go_on(pid, how), signal = WSTOPSIG(status);

		check(WIFSTOPPED(status), "the child ended early, wait status %#x", status);
		if (is_ours(signal))
			return signal;
		/* The child's own signal. If it is deadly, the next wait shows it. */
		pending = signal;
	}
}

pid_t stepper_start(void (*function)(void))
{
	pid_t pid = fork();
	int status;

	check(pid >= 0, "%s", strerror(errno));
	if (!pid) {
		marked = getpid();
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		function();
		_exit(EXIT_FAILURE);
	}
	check(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status), "wait status %#x", status);
	check(!ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD),
	      "%s", strerror(errno));
	pending = 0;
	stepper_run_to_mark(pid);
	return pid;
}

static void trace_add(struct trace *trace, size_t *room, uintptr_t pc)
{
	if (trace->count == *room) {
		*room = *room ? 2 * *room : 4096;
		trace->pc = realloc(trace->pc, *room * sizeof(*trace->pc));
		check(trace->pc, "no memory");
	}
	trace->pc[trace->count++] = pc;
}

/* The child's last visit to the same instruction before index, or index itself. */
static size_t visit_before(const struct trace *trace, size_t index)
{
	for (size_t i = index; i-- > 0;) {
		if (trace->pc[i] == trace->pc[index])
			return i;
	}
	return index;
}

/* Single steps stop at every repetition of an instruction, but breakpoints do not. */
static void count_visits(struct trace *trace)
{
	trace->visit = calloc(trace->count, sizeof(*trace->visit));
	check(trace->visit, "no memory");
	for (size_t i = 0; i < trace->count; i++) {
		size_t before = visit_before(trace, i);

		if (before == i)
			trace->visit[i] = 1;
		else if (before == i - 1 || trace->visit[before] == VISITS_UNKNOWN)
			trace->visit[before] = trace->visit[i] = VISITS_UNKNOWN;
		else
			trace->visit[i] = trace->visit[before] + 1;
	}
}

void stepper_record(pid_t pid, struct trace *trace)
{
	size_t room = 0;

	*trace = (struct trace){ 0 };
	do
		trace_add(trace, &room, pc_of(pid));
	while (go_on_to_stop(pid, PTRACE_SINGLESTEP) == SIGTRAP);
	/* A stop on the way into the mark would be outside of the examined stretch. */
	while (trace->count && trace->pc[trace->count - 1] != (uintptr_t)stepper_mark)
		trace->count--;
	check(trace->count, "the child never called the mark");
	count_visits(trace);
}

void trace_free(struct trace *trace)
{
	free(trace->pc);
	free(trace->visit);
}

/* From where to step to an instruction: with few visits before and few steps after. */
static size_t quickest_way(const struct trace *trace, size_t index)
{
	size_t best = index, stops = trace->visit[index];

	for (size_t i = index; i-- > 0 && (index - i < STEPS_MAX || stops >= VISITS_UNKNOWN);) {
		if (trace->visit[i] + (index - i) < stops) {
			best = i;
			stops = trace->visit[i] + (index - i);
		}
	}
	return best;
}

static bool step(pid_t pid, size_t steps)
{
	while (steps--) {
		if (go_on_to_stop(pid, PTRACE_SINGLESTEP) != SIGTRAP)
			return false;
	}
	return true;
}

bool stepper_run_to(pid_t pid, const struct trace *trace, size_t index)
{
	size_t from = quickest_way(trace, index);
	bool there = pc_of(pid) == trace->pc[from];

	/* The child is at the first instruction, which a breakpoint would miss. */
	if (!index)
		return true;
	if (!break_at(pid, trace->pc[from]))
		return step(pid, index);
	for (uint32_t visit = there; visit < trace->visit[from]; visit++) {
		if (go_on_to_stop(pid, PTRACE_CONT) != SIGTRAP) {
			break_at(pid, 0);
			return false;
		}
	}
	break_at(pid, 0);
	return step(pid, index - from);
}

void stepper_signal(int signal)
{
	pending = signal;
}

void stepper_run_to_mark(pid_t pid)
{
	check(go_on_to_stop(pid, PTRACE_CONT) == MARK, "a trap, at %#zx", pc_of(pid));
}

void stepper_run_to_mark_by(pid_t pid, uintptr_t pc, int signal, unsigned int times)
{
	while (times-- && break_at(pid, pc)) {
		if (go_on_to_stop(pid, PTRACE_CONT) == MARK) {
			break_at(pid, 0);
			return;
		}
		pending = signal;
	}
	break_at(pid, 0);
	stepper_run_to_mark(pid);
}

unsigned int stepper_count_system_calls(pid_t pid)
{
	struct __ptrace_syscall_info info;
	unsigned int count = 0;

	while (go_on_to_stop(pid, PTRACE_SYSCALL) == SYSTEM_CALL_STOP) {
		check(ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) > 0, "%s",
		      strerror(errno));
		count += info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr != SYS_tkill;
	}
	return count;
}

int stepper_end(pid_t pid)
{
	int status;

	for (;;) {
		status = go_on(pid, PTRACE_CONT);
		if (!WIFSTOPPED(status))
			break;
		pending = is_ours(WSTOPSIG(status)) ? 0 : WSTOPSIG(status);
	}
	check(WIFEXITED(status), "the child died, wait status %#x", status);
	return WEXITSTATUS(status);
}
