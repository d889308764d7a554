// SPDX-License-Identifier: MIT OR Apache-2.0
/* If a seccomp filter refuses what the library needs, it says so or does without. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <vgetrandom.h>

#include "check.h"
#include "config.h"
#include "sandbox.h"
#include "thread.h"

enum {
	/* The kernel reseeds from time to time, which undoes a prewarm. */
	ATTEMPTS = 3,
	BYTES_MAX = 4096,
	/* A library that retried for ever would not end. */
	SECONDS_MAX = 20,
};

static int refused_call, refused_with;

static void install(struct sock_filter *filter, size_t count)
{
	struct sock_fprog program = { (unsigned short)count, filter };

	alarm(SECONDS_MAX);
	check(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	check(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "no filter");
}

static void refuse(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)refused_call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)refused_with),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	install(filter, sizeof(filter) / sizeof(*filter));
}

/* Memory of any other kind is to be had. */
static void refuse_memory_for_states(void)
{
	/* The flags are the fourth argument; its low half comes first. */
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, vgr_config.params.mmap_flags, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)refused_with),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	install(filter, sizeof(filter) / sizeof(*filter));
}

static const size_t sizes[] = { 1, 16, 127, 128, 300, BYTES_MAX };

/* All sizes must return their length, or error if that is not 0. */
static void check_draws(int error)
{
	uint8_t bytes[BYTES_MAX];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		ssize_t wanted = error ? -error : (ssize_t)sizes[i];
		ssize_t got = vgetrandom(bytes, sizes[i], 0);

		check(got == wanted, "%zd instead of %zd", got, wanted);
	}
}

static void check_batch(void)
{
	uint8_t bytes[BYTES_MAX] = { 0 };

	for (int i = 0; i < BYTES_MAX; i++)
		check(vgetrandom_batch_u64(), "zero");
	vgetrandom_batch_bytes(bytes, sizeof(bytes));
	check(vgetrandom_batch_u32() || vgetrandom_batch_u32(), "zero");
	check(memcmp(bytes, bytes + 8, 8), "nothing was written");
}

static void refused_from_the_start(void)
{
	refuse();
	check_draws(refused_with);
	check(vgetrandom_prewarm() == -refused_with, "prewarm did not tell");
	check_draws(refused_with);
}

/* A success without bytes is none. */
static void pretended_from_the_start(void)
{
	refuse();
	check(vgetrandom_prewarm() == -EIO, "prewarm did not tell");
}

static void refused_batch(void)
{
	refuse();
	vgetrandom_batch_u64();
}

static void refused_batch_bytes(void)
{
	uint8_t bytes[BYTES_MAX];

	refuse();
	vgetrandom_batch_bytes(bytes, sizeof(bytes));
}

/* Without a buffer, in which there may be numbers. */
static void refused_borrowed_batch(void)
{
	refuse();
	vgr_thread.mode = THREAD_BORROWS;
	vgetrandom_batch_u64();
}

static void refused_after_prewarm(void)
{
	check(!vgetrandom_prewarm(), "no prewarm");
	refuse();
	check_draws(0);
	check_batch();
	check(vgetrandom_status() == VGETRANDOM_VDSO, "status %d", vgetrandom_status());
}

static void draw_without_memory(void)
{
	check_draws(0);
	check_batch();
	check(vgetrandom_status() == VGETRANDOM_NO_MEMORY, "status %d", vgetrandom_status());
	check(vgetrandom_prewarm() == -ENOMEM, "prewarm did not tell");
	check_draws(0);
}

static void refused_memory(void)
{
	refuse();
	draw_without_memory();
}

static void refused_memory_for_states(void)
{
	refuse_memory_for_states();
	draw_without_memory();
}

static void check_succeeds(void (*function)(void), int call, int error)
{
	int status = 0;

	refused_call = call;
	refused_with = error;
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		status = run_alone(function);
		if (!status)
			return;
	}
	check(false, "call %d refused with %d: wait status %#x", call, error, status);
}

static void check_traps(void (*function)(void), int error)
{
	int status;

	refused_call = SYS_getrandom;
	refused_with = error;
	status = run_alone(function);
	check(WIFSIGNALED(status) && (WTERMSIG(status) == SIGILL || WTERMSIG(status) == SIGTRAP),
	      "not ended by a trap, wait status %#x", status);
}

int main(void)
{
	static const int errors[] = { EPERM, ENOSYS };

	vgr_config_need();
	if (!vgr_config.vdso)
		cannot_run("the kernel has no vDSO getrandom");
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		check_succeeds(refused_from_the_start, SYS_getrandom, errors[i]);
		check_succeeds(refused_after_prewarm, SYS_getrandom, errors[i]);
		check_traps(refused_batch, errors[i]);
		check_traps(refused_batch_bytes, errors[i]);
		check_traps(refused_borrowed_batch, errors[i]);
		check_succeeds(refused_memory, SYS_mmap, errors[i]);
		check_succeeds(refused_memory_for_states, SYS_mmap, errors[i]);
	}
	check_succeeds(refused_after_prewarm, SYS_mmap, EPERM);
	/* A success without bytes: a loop that asks for the rest would never end. */
	check_succeeds(pretended_from_the_start, SYS_getrandom, 0);
	check_traps(refused_batch, 0);
	check_traps(refused_batch_bytes, 0);
	check_traps(refused_borrowed_batch, 0);
	return 0;
}
