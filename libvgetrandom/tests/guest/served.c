// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Description: the library knows how this kernel serves it, says so, and gives correct results.
 *
 * Usage: served vdso|system-calls
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vgetrandom.h>

#include "expected.h"

enum {
	GUARD = 0xa5,
	GUARD_SIZE = 64,
	MAX_SIZE = 70000,
	/* A byte equals the guard in all of them by chance once in 2^64 boots. */
	REPEATS = 8,
	DRAWS = 10000,
	KINDS = 4,
	TASKS = 3,
	/* An error number that nothing here sets. */
	SOME_ERRNO = 1234,
};

struct draws {
	uint64_t values[KINDS][DRAWS];
};

static void pass_through(void *buf, size_t len)
{
	ssize_t got = vgetrandom(buf, len, 0);

	check(got == (ssize_t)len, "%zu bytes: %zd", len, got);
}

static void check_filled(size_t len, void (*draw)(void *buf, size_t len))
{
	static uint8_t memory[GUARD_SIZE + MAX_SIZE + GUARD_SIZE];
	static uint8_t changed[MAX_SIZE];
	uint8_t *buf = memory + GUARD_SIZE;

	memset(changed, 0, sizeof(changed));
	for (int i = 0; i < REPEATS; i++) {
		memset(memory, GUARD, sizeof(memory));
		draw(buf, len);
		for (size_t at = 0; at < GUARD_SIZE; at++)
			check(memory[at] == GUARD && buf[len + at] == GUARD, "%zu bytes", len);
		for (size_t at = 0; at < len; at++)
			changed[at] |= buf[at] ^ GUARD;
	}
	for (size_t at = 0; at < len; at++)
		check(changed[at], "byte %zu of %zu was never written", at, len);
}

static void check_sizes(void)
{
	static const size_t sizes[] = { 256, 1000, 4096, 65536, MAX_SIZE };

	for (size_t len = 0; len < 200; len++) {
		check_filled(len, pass_through);
		check_filled(len, vgetrandom_batch_bytes);
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		check_filled(sizes[i], pass_through);
		check_filled(sizes[i], vgetrandom_batch_bytes);
	}
}

static void check_flags(void)
{
	static const unsigned int allowed[] = { 0, GRND_NONBLOCK, GRND_RANDOM, GRND_INSECURE };
	uint8_t buf[GUARD_SIZE];

	errno = SOME_ERRNO;
	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
		check(vgetrandom(buf, sizeof(buf), allowed[i]) == sizeof(buf), "flags %#x",
		      allowed[i]);
	check(vgetrandom(buf, sizeof(buf), ~0U) == -EINVAL, "flags");
	check(errno == SOME_ERRNO, "errno is %d", errno);
}

static void *draw_all(void *arg)
{
	struct draws *draws = arg;
	uint64_t bulk[KINDS * GUARD_SIZE];

	for (int i = 0; i < DRAWS; i++) {
		pass_through(&draws->values[0][i], sizeof(uint64_t));
		pass_through(bulk, sizeof(bulk));
		draws->values[1][i] = bulk[i % (KINDS * GUARD_SIZE)];
		draws->values[2][i] = vgetrandom_batch_u64();
		draws->values[3][i] =
			(uint64_t)vgetrandom_batch_u32() << 32 | vgetrandom_batch_u32();
	}
	return NULL;
}

/* Draws in a child, which inherits everything that its parent has drawn ahead. */
static pid_t start_child(int output)
{
	static struct draws draws;
	pid_t child = fork();

	check(child >= 0, "fork: %s", strerror(errno));
	if (child)
		return child;
	draw_all(&draws);
	for (size_t sent = 0; sent < sizeof(draws);) {
		ssize_t size = write(output, (char *)&draws + sent, sizeof(draws) - sent);

		check(size > 0, "write: %s", strerror(errno));
		sent += (size_t)size;
	}
	_exit(EXIT_SUCCESS);
}

static void end_child(pid_t child, int input, struct draws *draws)
{
	int status;

	for (size_t got = 0; got < sizeof(*draws);) {
		ssize_t size = read(input, (char *)draws + got, sizeof(*draws) - got);

		check(size > 0, "read: %s", strerror(errno));
		got += (size_t)size;
	}
	check(waitpid(child, &status, 0) == child && !status, "child: %#x", status);
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void check_distinct(void)
{
	static struct draws draws[TASKS];
	uint64_t *values = draws[0].values[0];
	pthread_t thread;
	int ends[2];
	pid_t child;

	check(!pipe(ends), "pipe: %s", strerror(errno));
	child = start_child(ends[1]);
	check(!pthread_create(&vgr_thread, NULL, draw_all, &draws[1]), "pthread_create");
	draw_all(&draws[2]);
	pthread_join(thread, NULL);
	end_child(child, ends[0], &draws[0]);
	qsort(values, TASKS * KINDS * DRAWS, sizeof(*values), compare);
	for (int i = 1; i < TASKS * KINDS * DRAWS; i++)
		check(values[i - 1] != values[i], "%#llx came twice",
		      (unsigned long long)values[i]);
}

int main(int argc, char **argv)
{
	bool vdso = vdso_expected(argc, argv);
	enum vgetrandom_status wanted = vdso ? VGETRANDOM_VDSO : VGETRANDOM_NO_VDSO;
	int warm;

	check(vgetrandom_status() == wanted, "at first: %s",
	      vgetrandom_status_text(vgetrandom_status()));
	warm = vgetrandom_prewarm();
	check(warm == (vdso ? 0 : -ENOSYS), "prewarm: %d", warm);
	check_flags();
	check_sizes();
	check_distinct();
	check(vgetrandom_status() == wanted, "at last: %s",
	      vgetrandom_status_text(vgetrandom_status()));
	printf("served by %s, %s\n", vgetrandom_status_text(wanted), vgetrandom_simd());
	return 0;
}
