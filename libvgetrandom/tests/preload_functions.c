// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * An unmodified program, which knows libc's functions and nothing about the library.
 * tests/integration/test_vgetrandom_library.py starts it with the preload object and counts the
 * system calls. Draws at least 1,000 times with each function, and fails if one behaves differently
 * from libc's.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "check.h"

enum {
	DRAWS = 1000,
	/* Tells a third from three eighths. */
	MANY_DRAWS = 20000,
	BOUND = 3,
};

/* Not in every libc, so found at run time. */
static uint32_t (*find_arc4random(void))(void)
{
	return (uint32_t (*)(void))dlsym(RTLD_DEFAULT, "arc4random");
}

static void (*find_arc4random_buf(void))(void *, size_t)
{
	return (void (*)(void *, size_t))dlsym(RTLD_DEFAULT, "arc4random_buf");
}

static uint32_t (*find_arc4random_uniform(void))(uint32_t)
{
	return (uint32_t (*)(uint32_t))dlsym(RTLD_DEFAULT, "arc4random_uniform");
}

/* 16 bytes never repeat by chance. */
static void check_fresh(const unsigned char buf[16])
{
	static unsigned char last[16];

	check(memcmp(buf, last, sizeof(last)), "the same 16 bytes twice");
	memcpy(last, buf, sizeof(last));
}

static void draw_bytes(void)
{
	void (*arc4random_buf)(void *, size_t) = find_arc4random_buf();
	unsigned char buf[16];

	check(arc4random_buf, "no library has it");
	for (int i = 0; i < DRAWS; i++) {
		check(getrandom(buf, sizeof(buf), 0) == sizeof(buf), "%s", strerror(errno));
		check_fresh(buf);
		check(getentropy(buf, sizeof(buf)) == 0, "%s", strerror(errno));
		check_fresh(buf);
		arc4random_buf(buf, sizeof(buf));
		check_fresh(buf);
	}
}

static void draw_numbers(void)
{
	uint32_t (*arc4random)(void) = find_arc4random();
	uint32_t (*arc4random_uniform)(uint32_t) = find_arc4random_uniform();
	uint32_t ones = 0, zeros = 0;
	int seen[BOUND] = { 0 };

	check(arc4random && arc4random_uniform, "no library has them");
	for (int i = 0; i < DRAWS; i++) {
		uint32_t number = arc4random(), below = arc4random_uniform(BOUND);

		ones |= number;
		zeros |= ~number;
		check(below < BOUND, "%u", below);
		seen[below]++;
	}
	check(ones == UINT32_MAX && zeros == UINT32_MAX, "a bit that never changes");
	/* Fewer than 200 of 1,000 at 1/3 each: a chance below 1e-19. */
	for (int i = 0; i < BOUND; i++)
		check(seen[i] > DRAWS / 5, "%d came %d times of %d", i, seen[i], DRAWS);
	check(arc4random_uniform(1) == 0 && arc4random_uniform(0) == 0, "nothing lies below");
}

/*
 * The top of a product, or a remainder, would give a third of these numbers twice as often as the
 * others; if it is drawn again, but only once, an eighth more often than due.
 */
static void check_large_bound(void)
{
	static const uint32_t bound = 3U << 30;
	uint32_t (*arc4random_uniform)(uint32_t) = find_arc4random_uniform();
	int thirds[3] = { 0 }, residues[3] = { 0 };

	for (int i = 0; i < MANY_DRAWS; i++) {
		uint32_t below = arc4random_uniform(bound);

		check(below < bound, "%u", below);
		thirds[below >> 30]++;
		residues[below % 3]++;
	}
	/* A third of 20,000 within 6 standard deviations: outside with a chance below 1e-7. */
	for (int i = 0; i < 3; i++)
		check(abs(thirds[i] - MANY_DRAWS / 3) < 400 &&
			      abs(residues[i] - MANY_DRAWS / 3) < 400,
		      "third %d came %d times of %d, residue %d times", i, thirds[i], MANY_DRAWS,
		      residues[i]);
}

static void check_errors(void)
{
	/* A byte more than getentropy() gives. */
	static unsigned char buf[257];

	errno = 0;
	check(getrandom(buf, 16, 0x80000000) == -1 && errno == EINVAL, "errno %d", errno);
	errno = 0;
	check(getentropy(buf, sizeof(buf)) == -1 && errno == EIO, "errno %d", errno);
	check(getentropy(buf, sizeof(buf) - 1) == 0, "%s", strerror(errno));
	check(getrandom(buf, 0, 0) == 0, "nothing asked for");
	errno = 7;
	check(getrandom(buf, 16, GRND_NONBLOCK) == 16 && errno == 7, "errno touched: %d", errno);
}

int main(void)
{
	draw_bytes();
	draw_numbers();
	check_large_bound();
	check_errors();
	return 0;
}
