/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * ChaCha20 (RFC 8439) on vectors; each instruction set's file includes this once.
 *
 * The state is four rows of four words. There are two layouts with the same rounds:
 * - wide: a vector holds one word of as many blocks as it has words, so that a round needs no
 *   shuffle. This has the most throughput.
 * - narrow: a lane of a vector holds a row of one block. This is faster than a wide pass for little
 *   data, since a round has the same latency anyway.
 *
 * Only arithmetic depends on secret data: no branch and no address does.
 */
#include <stddef.h>

enum {
	DOUBLE_ROUNDS = 10,
	NARROW_SIZE = LANES * CHACHA20_BLOCK_SIZE,
	WIDE_BLOCKS = LANES * LANE_WORDS,
	WIDE_SIZE = WIDE_BLOCKS * CHACHA20_BLOCK_SIZE,
	/* Leaf functions on x86-64 may use this many bytes below the stack pointer. */
	RED_ZONE = 128,
};

struct rows {
	vec a[4];
	vec b[4];
	vec c[4];
	vec d[4];
};

/* Unrolled by hand: i must be a constant for the vectors to stay in registers. */
#define FOR_EACH(n, statement)                                                                     \
	do {                                                                                       \
		{                                                                                  \
			enum { i = 0 };                                                            \
			statement;                                                                 \
		}                                                                                  \
		if ((n) > 1) {                                                                     \
			enum { i = 1 };                                                            \
			statement;                                                                 \
		}                                                                                  \
		if ((n) > 2) {                                                                     \
			enum { i = 2 };                                                            \
			statement;                                                                 \
		}                                                                                  \
		if ((n) > 3) {                                                                     \
			enum { i = 3 };                                                            \
			statement;                                                                 \
		}                                                                                  \
	} while (0)

static always_inline void quarter_round(vec *a, vec *b, vec *c, vec *d)
{
	*a += *b;
	*d = rotate_bits(*d ^ *a, 16);
	*c += *d;
	*b = rotate_bits(*b ^ *c, 12);
	*a += *b;
	*d = rotate_bits(*d ^ *a, 8);
	*c += *d;
	*b = rotate_bits(*b ^ *c, 7);
}

static always_inline vec broadcast(uint32_t word)
{
	return word + (vec){ 0 };
}

/* Adds the blocks' initial states. */
static always_inline void wide_add_state(struct rows *x, const uint32_t state[16])
{
	static const uint32_t block[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	const vec low = broadcast(state[12]) + *(const vec_unaligned *)block;

	FOR_EACH(4, x->a[i] += broadcast(state[i]));
	FOR_EACH(4, x->b[i] += broadcast(state[4 + i]));
	FOR_EACH(4, x->c[i] += broadcast(state[8 + i]));
	x->d[0] += low;
	/* A comparison that holds gives -1: here, where the counter's low word overflowed. */
	x->d[1] += broadcast(state[13]) - (vec)(low < broadcast(state[12]));
	x->d[2] += broadcast(state[14]);
	x->d[3] += broadcast(state[15]);
}

/* Turns word i of each block in x[i] into one row of a block in each lane. */
static always_inline void transpose(vec x[4])
{
	const vec low01 = zip_low(x[0], x[1]);
	const vec low23 = zip_low(x[2], x[3]);
	const vec high01 = zip_high(x[0], x[1]);
	const vec high23 = zip_high(x[2], x[3]);

	x[0] = zip_low_pairs(low01, low23);
	x[1] = zip_high_pairs(low01, low23);
	x[2] = zip_low_pairs(high01, high23);
	x[3] = zip_high_pairs(high01, high23);
}

/* Each lane of the rows is a block; blocks of neighbouring lanes are stride bytes apart. */
static always_inline void store_blocks(uint8_t *out, size_t stride, vec a, vec b, vec c, vec d)
{
	FOR_EACH(LANES, STORE_LANE(out + i * stride, a, i));
	FOR_EACH(LANES, STORE_LANE(out + i * stride + LANE_SIZE, b, i));
	FOR_EACH(LANES, STORE_LANE(out + i * stride + 2 * LANE_SIZE, c, i));
	FOR_EACH(LANES, STORE_LANE(out + i * stride + 3 * LANE_SIZE, d, i));
}

static always_inline void wide_pass(uint8_t *out, const uint32_t state[16])
{
	struct rows x = { 0 };

	wide_add_state(&x, state);
	for (int round = 0; round < DOUBLE_ROUNDS; round++) {
		FOR_EACH(4, quarter_round(&x.a[i], &x.b[i], &x.c[i], &x.d[i]));
		FOR_EACH(4, quarter_round(&x.a[i], &x.b[(i + 1) % 4], &x.c[(i + 2) % 4],
					  &x.d[(i + 3) % 4]));
	}
	wide_add_state(&x, state);
	transpose(x.a);
	transpose(x.b);
	transpose(x.c);
	transpose(x.d);
	/* A lane had a word of each of four blocks, which are now in x.a[0] to x.a[3]. */
	FOR_EACH(4, store_blocks(out + i * CHACHA20_BLOCK_SIZE, 4 * CHACHA20_BLOCK_SIZE, x.a[i],
				 x.b[i], x.c[i], x.d[i]));
}

static always_inline void narrow_add_state(struct rows *x, int n, const uint32_t state[16])
{
	static const uint64_t block[16] = { 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0 };
	const vec64 d = (vec64)load_row(state + 12);

	FOR_EACH(n, x->a[i] += load_row(state));
	FOR_EACH(n, x->b[i] += load_row(state + 4));
	FOR_EACH(n, x->c[i] += load_row(state + 8));
	FOR_EACH(n, x->d[i] += (vec)(d + *(const vec64_unaligned *)(block + 2 * LANES * i)));
}

/* Writes n * NARROW_SIZE bytes. */
static always_inline void narrow_pass(uint8_t *out, int n, const uint32_t state[16])
{
	struct rows x = { 0 };

	narrow_add_state(&x, n, state);
	for (int round = 0; round < DOUBLE_ROUNDS; round++) {
		FOR_EACH(n, quarter_round(&x.a[i], &x.b[i], &x.c[i], &x.d[i]));
		FOR_EACH(n, x.b[i] = ROTATE_LANES(x.b[i], 1));
		FOR_EACH(n, x.c[i] = ROTATE_LANES(x.c[i], 2));
		FOR_EACH(n, x.d[i] = ROTATE_LANES(x.d[i], 3));
		FOR_EACH(n, quarter_round(&x.a[i], &x.b[i], &x.c[i], &x.d[i]));
		FOR_EACH(n, x.b[i] = ROTATE_LANES(x.b[i], 3));
		FOR_EACH(n, x.c[i] = ROTATE_LANES(x.c[i], 2));
		FOR_EACH(n, x.d[i] = ROTATE_LANES(x.d[i], 1));
	}
	narrow_add_state(&x, n, state);
	FOR_EACH(n, store_blocks(out + i * NARROW_SIZE, CHACHA20_BLOCK_SIZE, x.a[i], x.b[i], x.c[i],
				 x.d[i]));
}

/* Not a library function, which could leave copies in registers and on the stack. */
static always_inline void copy(uint8_t *to, const uint8_t *from, size_t len)
{
	size_t done = 0;

	for (; len - done >= sizeof(uint64_t); done += sizeof(uint64_t))
		__builtin_memcpy(to + done, from + done, sizeof(uint64_t));
	for (; done < len; done++) {
		to[done] = from[done];
		/* Or compilers turn this loop into memcpy(). */
		__asm__ volatile("" ::: "memory");
	}
}

static always_inline void advance(uint32_t state[16], size_t blocks)
{
	const uint64_t counter = ((uint64_t)state[13] << 32 | state[12]) + blocks;

	state[12] = (uint32_t)counter;
	state[13] = (uint32_t)(counter >> 32);
}

/*
 * Leaves secrets in registers and in its frame: in its variables, and where the compiler spilled
 * registers. Returns the address below which it wrote nothing.
 */
static noinline uintptr_t expand(uint8_t *out, size_t len, const uint8_t key[CHACHA20_KEY_SIZE],
				 const uint32_t start[4])
{
	uint32_t state[16] = { 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574 };
	uint8_t rest[WIDE_SIZE];

	__builtin_memcpy(state + 4, key, CHACHA20_KEY_SIZE);
	__builtin_memcpy(state + 12, start, CHACHA20_BLOCK_SIZE - 12 * sizeof(*state));
	while (len) {
		const int narrow = len <= NARROW_SIZE ? 1 : len <= 2 * NARROW_SIZE ? 2 : 0;
		const size_t size = narrow ? (size_t)narrow * NARROW_SIZE : WIDE_SIZE;
		uint8_t *to = len < size ? rest : out;

		if (narrow == 1)
			narrow_pass(to, 1, state);
		else if (narrow == 2)
			narrow_pass(to, 2, state);
		else
			wide_pass(to, state);
		if (to == rest) {
			copy(out, rest, len);
			break;
		}
		advance(state, size / CHACHA20_BLOCK_SIZE);
		out += size;
		len -= size;
	}
	return stack_pointer(rest) - RED_ZONE;
}

void chacha20_expand(uint8_t *out, size_t len, const uint8_t key[CHACHA20_KEY_SIZE],
		     const uint32_t start[4])
{
	uint8_t anchor;
	const uintptr_t bottom = expand(out, len, key, start);
	const uintptr_t top = stack_pointer(&anchor);
	const size_t count = (top - bottom + VEC_SIZE - 1) / VEC_SIZE;
	/* Occupies exactly the place of that frame. */
	vec_unaligned frame[count];

	for (size_t i = 0; i < count; i++)
		frame[i] = (vec){ 0 };
	/* Or the compiler drops the wipe. */
	__asm__ volatile("" : : "r"(frame) : "memory");
	wipe_registers();
}
