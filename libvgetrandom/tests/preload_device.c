// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Description: an unmodified program whose sandbox refuses getrandom(2) to threads that have no key
 * yet. arc4random_buf() cannot fail, so it reads the device, and only what was asked for; without
 * the device it ends the program. getentropy() fails. The test starts with the preload object.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum {
	LEN = 300,
	AROUND = 64,
	UNTOUCHED = 0xa5,
	FILES_MAX = 64,
	/* More than that. */
	TIMES = 2000,
};

/* Refuses a call unless its third argument has these flags; always, if there are none. */
static void refuse_without(int call, uint32_t flags)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, flags, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(*filter), filter };

	check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "privileges");
	check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "seccomp");
}

static void refuse(int call)
{
	refuse_without(call, 0);
}

static void (*find_arc4random_buf(void))(void *, size_t)
{
	return (void (*)(void *, size_t))dlsym(RTLD_DEFAULT, "arc4random_buf");
}

/* Other devices give the same each time. */
static void check_fresh(const uint8_t *bytes)
{
	static uint8_t last[LEN];

	for (size_t at = 0; at + 8 <= LEN; at++)
		check(memcmp(bytes + at, last + at, 8) != 0, "the same at %zu", at);
	memcpy(last, bytes, LEN);
}

static void *draw(void *unused)
{
	void (*arc4random_buf)(void *, size_t) = find_arc4random_buf();
	uint8_t buf[AROUND + LEN + AROUND], around[AROUND];

	refuse(SYS_getrandom);
	/* Programs that are started meanwhile must not get the device. */
	refuse_without(SYS_openat, O_CLOEXEC);
	check(getrandom(buf, 16, 0) == -1 && errno == EPERM, "getrandom(2) is not refused");
	errno = 0;
	check(getentropy(buf, 16) == -1 && errno == EPERM, "it hides that it is refused");
	memset(buf, UNTOUCHED, sizeof(buf));
	memset(around, UNTOUCHED, sizeof(around));
	for (int i = 0; i < TIMES; i++)
		arc4random_buf(buf + AROUND, LEN);
	check_fresh(buf + AROUND);
	arc4random_buf(buf + AROUND, LEN);
	check_fresh(buf + AROUND);
	check(!memcmp(buf, around, AROUND) && !memcmp(buf + AROUND + LEN, around, AROUND),
	      "bytes around are written to");
	for (size_t at = 0; at + 8 <= LEN; at++)
		check(memcmp(buf + AROUND + at, around, 8) != 0, "not written at %zu", at);
	return unused;
}

/* Without a key of its own. */
static void draw_in_thread(void)
{
	pthread_t thread;

	check(!pthread_create(&thread, NULL, draw, NULL), "no thread");
	check(!pthread_join(thread, NULL), "no thread");
}

static int without_device(void)
{
	int status;
	pid_t child = fork();

	check(child >= 0, "no fork");
	if (!child) {
		refuse(SYS_openat);
		draw_in_thread();
		_exit(EXIT_SUCCESS);
	}
	check(waitpid(child, &status, 0) == child, "no child");
	return status;
}

int main(void)
{
	const struct rlimit files = { FILES_MAX, FILES_MAX };
	int status = without_device();

	check(!setrlimit(RLIMIT_NOFILE, &files), "no limit");
	check(WIFSIGNALED(status), "nothing random, and no end: wait status %#x",
	      (unsigned int)status);
	draw_in_thread();
	/* The device is file 0 now. */
	close(STDIN_FILENO);
	draw_in_thread();
	return 0;
}
