// SPDX-License-Identifier: Apache-2.0
/*
 * Description: attacks by processes of a user without privileges, on what the kernel
 * must refuse to them, and a few by root on what it must refuse to root.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "attack.h"

enum { NOBODY = 65534, KLOG_READ_ALL = 3, LAYOUTS = 8, PAGE = 4096 };

#define STICKY "/sticky"

/*
 * Where the kernel is linked to run, from its arch/ folder. On arm64 that depends on the
 * bits of an address (48 or 52, 47, 42, 39, 36), and on the room for modules, which was
 * 128 MiB before Linux 6.5 and is 2 GiB.
 */
static const uint64_t linked[] = {
#ifdef __x86_64__
	0xffffffff81000000UL,
#else
	0xffff800080000000UL, 0xffffc00080000000UL, 0xfffffe0080000000UL, 0xffffffc080000000UL,
	0xfffffff880000000UL, 0xffff800008000000UL, 0xffffc00008000000UL, 0xfffffe0008000000UL,
	0xffffffc008000000UL, 0xfffffff808000000UL,
#endif
};

/* See struct tally. */
static long seen;

static void become_nobody(void)
{
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY)) {
		perror("setresuid");
		_exit(1);
	}
	/* As every process has it whose user did not change. */
	prctl(PR_SET_DUMPABLE, 1);
}

static bool trace_another(void)
{
	pid_t victim = fork();
	bool traced;

	if (!victim)
		for (;;)
			pause();
	/* A debugger may be the parent, so the attack is a sibling of its victim. */
	if (!fork()) {
		traced = !ptrace(PTRACE_ATTACH, victim, NULL, NULL);
		_exit(traced ? 0 : errno);
	}
	int status = 0;

	for (pid_t ended = wait(&status); ended == victim;)
		ended = wait(&status);
	kill(victim, SIGKILL);
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : ECANCELED;
	return !errno;
}

static bool read_log(void)
{
	char text[PAGE];

	return klogctl(KLOG_READ_ALL, text, sizeof(text)) > 0;
}

/* The same, by the file that a service would read. */
static bool read_log_file(void)
{
	char text[PAGE];
	int file = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);

	return file >= 0 && read(file, text, sizeof(text)) > 0;
}

static uint64_t symbol_address(const char *wanted)
{
	FILE *symbols = fopen("/proc/kallsyms", "r");
	char line[512], name[256];
	unsigned long address, found = 0;

	if (!symbols)
		return 0;
	while (!found && fgets(line, sizeof(line), symbols))
		if (sscanf(line, "%lx %*c %255s", &address, name) == 2 && !strcmp(name, wanted))
			found = address;
	fclose(symbols);
	errno = EPERM;
	return found;
}

static bool see_addresses(void)
{
	return symbol_address("_text") != 0;
}

static bool profile_kernel(void)
{
	struct perf_event_attr wanted = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(wanted),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000,
	};

	return syscall(SYS_perf_event_open, &wanted, 0, -1, -1, 0) >= 0;
}

static bool load_bpf(void)
{
	struct bpf_insn program[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr wanted = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insns = (uintptr_t)program,
		.insn_cnt = 2,
		.license = (uintptr_t)"GPL",
	};

	return syscall(SYS_bpf, BPF_PROG_LOAD, &wanted, sizeof(wanted)) >= 0;
}

static bool map_null(void)
{
	return mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		    0) != MAP_FAILED;
}

static bool open_userfaultfd(void)
{
	return syscall(SYS_userfaultfd, O_CLOEXEC) >= 0;
}

static bool open_io_uring(void)
{
	char parameters[120] = { 0 };

	return syscall(SYS_io_uring_setup, 1, parameters) >= 0;
}

static bool make_namespace(void)
{
	return !unshare(CLONE_NEWUSER);
}

/* Give a system call up, as a service does that may be taken over later. */
static void filter(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = 4, .filter = filter };

	/* A kernel without filters lets it call what it wants. */
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static bool call_filtered(void)
{
	filter();
	return syscall(SYS_getppid) >= 0;
}

/* The same, by a child. */
static bool child_calls_filtered(void)
{
	int status = 0;

	filter();
	if (!fork())
		_exit(syscall(SYS_getppid) >= 0 ? 0 : errno);
	wait(&status);
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : ECANCELED;
	return !errno;
}

static bool open_memory(void)
{
	return open("/dev/mem", O_RDONLY) >= 0;
}

/* Is the kernel where it was linked, or where the attacker saw it in another boot? */
static bool kernel_as_linked(void)
{
	uint64_t text = symbol_address("_text");

	/* Of an address that even root cannot see, nothing is known. */
	errno = text ? EPERM : ENODATA;
	seen = (long)text;
	for (size_t i = 0; i < sizeof(linked) / sizeof(*linked); i++)
		if (text == linked[i])
			return true;
	return false;
}

static bool call_vsyscall(void)
{
#ifdef __x86_64__
	/* time(), at an address that is the same in every process. */
	long (*vsyscall_time)(long *) = (long (*)(long *))0xffffffffff600400UL;

	return vsyscall_time(NULL) > 0;
#else
	errno = ENOSYS;
	return false;
#endif
}

static bool follow_link(void)
{
	return open(STICKY "/link", O_RDONLY) >= 0;
}

static bool open_fifo(void)
{
	return open(STICKY "/fifo", O_CREAT | O_RDWR | O_NONBLOCK, 0600) >= 0;
}

static bool open_file(void)
{
	return open(STICKY "/file", O_CREAT | O_RDWR, 0600) >= 0;
}

static bool link_to_others(void)
{
	return !link(STICKY "/roots", STICKY "/linked");
}

/* What a user prepares in a folder that all may write to, for root to step into. */
static void set_traps(void)
{
	mkdir(STICKY, 0777);
	chmod(STICKY, 01777);
	close(open(STICKY "/roots", O_CREAT | O_WRONLY, 0600));
	if (!fork()) {
		become_nobody();
		if (symlink("/job", STICKY "/link") || mkfifo(STICKY "/fifo", 0666))
			perror(STICKY);
		close(open(STICKY "/file", O_CREAT | O_WRONLY, 0666));
		_exit(0);
	}
	wait(NULL);
}

void tell(const char *what)
{
	int local;

	if (!strcmp(what, "stack"))
		printf("%p\n", (void *)&local);
	else if (!strcmp(what, "heap"))
		printf("%p\n", sbrk(0));
	else if (!strcmp(what, "mapping"))
		printf("%p\n", mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	else if (!strcmp(what, "vdso") && getauxval(AT_SYSINFO_EHDR))
		printf("%#lx\n", getauxval(AT_SYSINFO_EHDR));
	else if (!strcmp(what, "parent"))
		printf("%ld\n", syscall(SYS_getppid));
}

/* What a program says that is started afresh; false if it says nothing. */
static bool ask_program(const char *what, char *said, size_t size)
{
	int ends[2];
	ssize_t got;

	if (pipe(ends))
		return false;
	if (!fork()) {
		dup2(ends[1], STDOUT_FILENO);
		execl("/proc/self/exe", "attack", "tell", what, NULL);
		_exit(1);
	}
	close(ends[1]);
	wait(NULL);
	got = read(ends[0], said, size - 1);
	close(ends[0]);
	said[got > 0 ? got : 0] = '\0';
	return got > 0;
}

static bool program_calls_filtered(void)
{
	char said[32];

	filter();
	if (!ask_program("parent", said, sizeof(said))) {
		errno = ENODATA;
		return false;
	}
	errno = EPERM;
	return strtol(said, NULL, 10) >= 0;
}

/* Has a program something where the last one had it? */
static bool address_repeats(const char *what)
{
	static char last[32];
	char address[32];
	bool same;

	/* Without an address there is nothing to compare. */
	if (!ask_program(what, address, sizeof(address))) {
		errno = ENODATA;
		return false;
	}
	same = !strcmp(address, last);
	strcpy(last, address);
	errno = EPERM;
	return same;
}

static bool stack_repeats(void)
{
	return address_repeats("stack");
}

static bool heap_repeats(void)
{
	return address_repeats("heap");
}

static bool mapping_repeats(void)
{
	return address_repeats("mapping");
}

static bool vdso_repeats(void)
{
	return address_repeats("vdso");
}

static const struct {
	const char *name;
	bool (*attack)(void);
	bool as_root;
	int tries;
} attacks[] = {
	/* By a user. */
	{ "ptrace", trace_another, false, 1 },
	{ "dmesg", read_log, false, 1 },
	{ "kmsg", read_log_file, false, 1 },
	{ "kallsyms", see_addresses, false, 1 },
	{ "perf", profile_kernel, false, 1 },
	{ "bpf", load_bpf, false, 1 },
	{ "null", map_null, false, 1 },
	{ "userfaultfd", open_userfaultfd, false, 1 },
	{ "io_uring", open_io_uring, false, 1 },
	{ "namespace", make_namespace, false, 1 },
	{ "hardlink", link_to_others, false, 1 },
	{ "seccomp", call_filtered, false, 1 },
	{ "seccomp_fork", child_calls_filtered, false, 1 },
	{ "seccomp_exec", program_calls_filtered, false, 1 },
	{ "vsyscall", call_vsyscall, false, 1 },
	{ "aslr_stack", stack_repeats, false, LAYOUTS },
	{ "aslr_heap", heap_repeats, false, LAYOUTS },
	{ "aslr_mapping", mapping_repeats, false, LAYOUTS },
	{ "aslr_vdso", vdso_repeats, false, LAYOUTS },
	/* By root. */
	{ "symlink", follow_link, true, 1 },
	{ "fifo", open_fifo, true, 1 },
	{ "regular", open_file, true, 1 },
	{ "memory", open_memory, true, 1 },
	{ "kaslr", kernel_as_linked, true, 1 },
};

bool attack_as_user(const char *name, struct tally *tally)
{
	for (size_t i = 0; i < sizeof(attacks) / sizeof(*attacks); i++) {
		if (strcmp(name, attacks[i].name))
			continue;
		set_traps();
		if (!attacks[i].as_root)
			become_nobody();
		errno = 0;
		while (tally->tries < attacks[i].tries) {
			tally->tries++;
			if (attacks[i].attack())
				tally->landed++;
			else
				tally->error = errno;
		}
		tally->seen = seen;
		return true;
	}
	return false;
}
