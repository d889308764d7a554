// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * An unmodified program that closes its sandbox before it draws, so that mmap(2) kills it.
 * tests/integration/test_vgetrandom_library.py starts it with the preload object.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>

#include "check.h"

static void forbid_mmap(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(*filter), filter };

	check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "privileges");
	check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "seccomp");
}

int main(void)
{
	unsigned char buf[16];

	forbid_mmap();
	for (int i = 0; i < 1000; i++)
		check(getrandom(buf, sizeof(buf), 0) == sizeof(buf), "draw %d", i);
	return 0;
}
