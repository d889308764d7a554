/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Compares random lengths, alignments, counters, and keys that lie in the output with OpenSSL if it
 * is there. Arguments: seconds for each core, and the seed of a run to repeat.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "chacha20_each.h"
#include "chacha20_reference.h"

enum {
	MAX_LEN = 1 << 20,
	MARGIN = 128,
	/* Even if the machine is slow. */
	MIN_CASES = 2000,
	UNTOUCHED = 0xa5,
};

struct random_case {
	uint32_t start[4];
	uint8_t key[CHACHA20_KEY_SIZE];
	size_t len;
	size_t offset;
	bool key_in_out;
	size_t key_offset;
};

static double seconds = 0.7;
static uint64_t seed;
static uint8_t out[MAX_LEN + 2 * MARGIN + CHACHA20_KEY_SIZE];
static uint8_t expected[sizeof(out)];

/* SplitMix64. */
static uint64_t draw(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static uint64_t below(uint64_t *state, uint64_t end)
{
	return draw(state) % end;
}

/* Mostly around the sizes of vectors, rarely long. */
static size_t draw_len(uint64_t *state)
{
	static const uint64_t ends[] = { 65, 300, 1100, 1100, 1100, 2500, 2500, 10000 };

	if (!below(state, 500))
		return below(state, MAX_LEN + 1);
	return below(state, ends[below(state, sizeof(ends) / sizeof(*ends))]);
}

/* Often just below a carry. */
static uint32_t draw_counter_word(uint64_t *state)
{
	if (below(state, 2))
		return (uint32_t)draw(state);
	return UINT32_MAX - (uint32_t)below(state, 40);
}

static void draw_case(struct random_case *c, uint64_t *state)
{
	c->start[0] = draw_counter_word(state);
	c->start[1] = draw_counter_word(state);
	c->start[2] = (uint32_t)draw(state);
	c->start[3] = (uint32_t)draw(state);
	for (size_t i = 0; i < sizeof(c->key); i++)
		c->key[i] = (uint8_t)draw(state);
	c->len = draw_len(state);
	c->offset = below(state, MARGIN);
	c->key_in_out = below(state, 2);
	/* The key may extend beyond the end. */
	c->key_offset = c->offset + below(state, c->len + 1);
}

/* What lies around the output must stay unchanged. */
static void run(chacha20_fn *expand, const struct random_case *c, uint8_t *buf)
{
	const uint8_t *key = c->key;

	memset(buf, UNTOUCHED, c->offset + c->len + MARGIN + CHACHA20_KEY_SIZE);
	if (c->key_in_out) {
		memcpy(buf + c->key_offset, c->key, CHACHA20_KEY_SIZE);
		key = buf + c->key_offset;
	}
	expand(buf + c->offset, c->len, key, c->start);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void test(const struct chacha20 *core)
{
	const double end = now() + seconds;
	uint64_t state = seed;
	struct random_case c;
	uint64_t i;

	for (i = 0; i < MIN_CASES || now() < end; i++) {
		draw_case(&c, &state);
		run(expected_expand, &c, expected);
		run(core->expand, &c, out);
		check(!memcmp(out, expected, c.offset + c.len + MARGIN + CHACHA20_KEY_SIZE),
		      "%s: seed %" PRIu64 ", case %" PRIu64
		      ": %zu bytes at offset %zu, key %s (%zu), counter %08x%08x",
		      core->name, seed, i, c.len, c.offset, c.key_in_out ? "in them" : "outside",
		      c.key_offset, c.start[1], c.start[0]);
	}
	printf("%s: %" PRIu64 " cases\n", core->name, i);
}

int main(int argc, char **argv)
{
	check(getrandom(&seed, sizeof(seed), 0) == sizeof(seed), "no random bytes");
	if (argc > 1)
		seconds = strtod(argv[1], NULL);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 10);
	printf("seed %" PRIu64 "\n", seed);
	return each_core(test);
}
