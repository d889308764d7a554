// SPDX-License-Identifier: Apache-2.0
/*
 * Description: times generators of stack offsets, each draw separately.
 *
 * Usage: generator WORD DRAWS WARMUP
 *
 * Each generator is a function that loads its state, draws, and stores the state, as
 * system call entry would. "nothing" is a function that does nothing: whatever the
 * others take beyond it is the generator. How entry code finds its state (per CPU or
 * per task) differs between architectures and is not included.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "sample.h"

enum {
	EXIT_UNSUPPORTED = 77,
	OFFSET_MASK = 0x3f0,
	CHACHA_ROUNDS = 20,
	CHACHA_KEY = 8,
	CHACHA_WORDS = 16,
};

union state {
	struct {
		uint32_t word[4];
	} lfsr;
	struct {
		uint64_t counter;
		uint64_t key;
	} counter;
	struct {
		uint64_t state;
		uint64_t key;
	} fold;
	struct {
		uint64_t v[4];
	} sip;
	struct {
		uint32_t key[CHACHA_KEY];
		uint8_t drawn[4 * (CHACHA_WORDS - CHACHA_KEY)];
		uint32_t left;
	} chacha;
	struct {
		uint8_t state[16];
		uint8_t key[16];
	} aes;
	uint64_t seed[16];
} __attribute__((aligned(64)));

/* Only the return instruction. */
static uint32_t draw_nothing(union state *s)
{
	uint32_t offset;

	__asm__("" : "=r"(offset) : "m"(*s));
	return offset;
}

static inline uint32_t lfsr_word(uint32_t word, uint32_t mask, int left, int right, int shift)
{
	return ((word & mask) << left) ^ (((word << shift) ^ word) >> right);
}

/* One step of the kernel's prandom_u32_state(). */
static uint32_t draw_lfsr(union state *s)
{
	uint32_t *word = s->lfsr.word;

	word[0] = lfsr_word(word[0], 0xfffffffe, 18, 13, 6);
	word[1] = lfsr_word(word[1], 0xfffffff8, 2, 27, 2);
	word[2] = lfsr_word(word[2], 0xfffffff0, 7, 21, 13);
	word[3] = lfsr_word(word[3], 0xffffff80, 13, 12, 3);
	return (word[0] ^ word[1] ^ word[2] ^ word[3]) & OFFSET_MASK;
}

static uint32_t draw_counter(union state *s)
{
	s->counter.counter += 0x9e3779b97f4a7c15;
	return mul_fold(s->counter.counter, s->counter.key) & OFFSET_MASK;
}

/* The state is the fold of its product with a key. */
static uint32_t draw_mulfold(union state *s)
{
	s->fold.state = mul_fold(s->fold.state, s->fold.key);
	return s->fold.state & OFFSET_MASK;
}

/* The same, but no state maps to itself under every key. */
static uint32_t draw_mulfold_key(union state *s)
{
	uint64_t key = s->fold.key;

	s->fold.state = mul_fold(s->fold.state, key) ^ key;
	return s->fold.state & OFFSET_MASK;
}

static inline uint64_t rotate64(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

/* One SipRound without input is a permutation: it neither loses nor adds entropy. */
static uint32_t draw_siphash(union state *s)
{
	uint64_t *v = s->sip.v;
	uint64_t a = v[0], b = v[1], c = v[2], d = v[3];

	a += b;
	b = rotate64(b, 13) ^ a;
	a = rotate64(a, 32);
	c += d;
	d = rotate64(d, 16) ^ c;
	a += d;
	d = rotate64(d, 21) ^ a;
	c += b;
	b = rotate64(b, 17) ^ c;
	c = rotate64(c, 32);
	v[0] = a;
	v[1] = b;
	v[2] = c;
	v[3] = d;
	return (a ^ b ^ c ^ d) & OFFSET_MASK;
}

static inline uint32_t rotate32(uint32_t x, int by)
{
	return x << by | x >> (32 - by);
}

static inline void quarter_round(uint32_t *x, int a, int b, int c, int d)
{
	x[a] += x[b];
	x[d] = rotate32(x[d] ^ x[a], 16);
	x[c] += x[d];
	x[b] = rotate32(x[b] ^ x[c], 12);
	x[a] += x[b];
	x[d] = rotate32(x[d] ^ x[a], 8);
	x[c] += x[d];
	x[b] = rotate32(x[b] ^ x[c], 7);
}

/* Half of the block is the next key, so the state does not reveal earlier draws. */
static __attribute__((noinline)) void chacha_refill(union state *s)
{
	uint32_t input[CHACHA_WORDS] = { 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574 };
	uint32_t x[CHACHA_WORDS];

	memcpy(input + 4, s->chacha.key, sizeof(s->chacha.key));
	memcpy(x, input, sizeof(x));
	for (int i = 0; i < CHACHA_ROUNDS; i += 2) {
		quarter_round(x, 0, 4, 8, 12);
		quarter_round(x, 1, 5, 9, 13);
		quarter_round(x, 2, 6, 10, 14);
		quarter_round(x, 3, 7, 11, 15);
		quarter_round(x, 0, 5, 10, 15);
		quarter_round(x, 1, 6, 11, 12);
		quarter_round(x, 2, 7, 8, 13);
		quarter_round(x, 3, 4, 9, 14);
	}
	for (int i = 0; i < CHACHA_WORDS; i++)
		x[i] += input[i];
	memcpy(s->chacha.key, x, sizeof(s->chacha.key));
	memcpy(s->chacha.drawn, x + CHACHA_KEY, sizeof(s->chacha.drawn));
	s->chacha.left = sizeof(s->chacha.drawn);
}

static uint32_t draw_chacha(union state *s)
{
	uint8_t *next;
	uint32_t drawn;

	if (!s->chacha.left)
		chacha_refill(s);
	next = s->chacha.drawn + --s->chacha.left;
	drawn = *next;
	*next = 0;
	return drawn << 4 & OFFSET_MASK;
}

static uint32_t draw_aes(union state *s)
{
	return aes_two_rounds(s->aes.state, s->aes.key) & OFFSET_MASK;
}

static bool always(void)
{
	return true;
}

static const struct generator {
	const char *word;
	const char *workload;
	uint32_t (*draw)(union state *s);
	bool (*supported)(void);
} generators[] = {
	{ "nothing", "generator/nothing", draw_nothing, always },
	{ "lfsr", "generator/lfsr", draw_lfsr, always },
	{ "counter", "generator/counter", draw_counter, always },
	{ "mulfold", "generator/mulfold", draw_mulfold, always },
	{ "mulfold-key", "generator/mulfold-key", draw_mulfold_key, always },
	{ "siphash", "generator/siphash", draw_siphash, always },
	{ "chacha", "generator/chacha", draw_chacha, always },
	{ "aes", "generator/aes", draw_aes, aes_supported },
};

static const struct generator *find_generator(const char *word)
{
	for (size_t i = 0; i < sizeof(generators) / sizeof(generators[0]); i++)
		if (!strcmp(generators[i].word, word))
			return &generators[i];
	return NULL;
}

/* The seed is the same in every boot; otherwise the counts would not repeat. */
static void seed(union state *s)
{
	uint64_t word = 1;

	for (size_t i = 0; i < sizeof(s->seed) / sizeof(s->seed[0]); i++) {
		word = word * 6364136223846793005 + 1442695040888963407;
		s->seed[i] = word;
	}
	s->chacha.left = 0;
}

static void time_draws(struct samples *samples, const struct generator *g, union state *s,
		       uint64_t count)
{
	uint32_t (*draw)(union state *s) = g->draw;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t begin = clock_begin(), value;
		uint32_t offset = draw(s);

		/* Or the compiler drops the draw, which is not used. */
		__asm__ volatile("" : : "r"(offset) : "memory");
		value = clock_end() - begin;
		samples_add(samples, value, tick_clock());
	}
}

int main(int argc, char **argv)
{
	const struct generator *g = argc == 4 ? find_generator(argv[1]) : NULL;
	struct samples *warm, *samples;
	union state state;
	struct workload w;
	uint64_t begin;

	if (!g) {
		fprintf(stderr, "usage: %s WORD DRAWS WARMUP\n", argv[0]);
		return 1;
	}
	if (!g->supported()) {
		fprintf(stderr, "%s: the CPU has no instructions for it\n", argv[1]);
		return EXIT_UNSUPPORTED;
	}
	w = (struct workload){
		.name = g->workload,
		.count = strtoull(argv[2], NULL, 10),
		.warmup = strtoull(argv[3], NULL, 10),
		.operations = 1,
		.overhead = clock_overhead(),
	};
	seed(&state);
	warm = samples_create();
	samples_begin(warm);
	time_draws(warm, g, &state, w.warmup);
	samples_destroy(warm);

	samples = samples_create();
	samples_begin(samples);
	marker_begin();
	begin = clock_begin();
	time_draws(samples, g, &state, w.count);
	w.elapsed = clock_end() - begin;
	marker_end();
	samples_end(samples);
	samples_print(samples, &w);
	samples_destroy(samples);
	return 0;
}
