/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Known answers from RFC 8439, and what the kernel's own selftest requires of the vDSO's core
 * without fixed answers: any split at a block gives the same stream, and the counter carries.
 */
#include <string.h>

#include "chacha20_each.h"
#include "chacha20_reference.h"

struct vector {
	const char *section;
	/* Hexadecimal. */
	const char *key;
	const char *nonce;
	uint32_t counter;
	const char *stream;
};

#define ZERO_KEY   "0000000000000000000000000000000000000000000000000000000000000000"
#define COUNT_KEY  "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define ZERO_NONCE "000000000000000000000000"

static const struct vector vectors[] = {
	{ "2.3.2", COUNT_KEY, "000000090000004a00000000", 1,
	  "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
	  "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e" },
	{ "2.4.2", COUNT_KEY, "000000000000004a00000000", 1,
	  "224f51f3401bd9e12fde276fb8631ded8c131f823d2c06e27e4fcaec9ef3cf78"
	  "8a3b0aa372600a92b57974cded2b9334794cba40c63e34cdea212c4cf07d41b7"
	  "69a6749f3f630f4122cafe28ec4dc47e26d4346d70b98c73f3e9c53ac40c5945"
	  "398b6eda1a832c89c167eacd901d7e2bf363" },
	{ "A.1 #1", ZERO_KEY, ZERO_NONCE, 0,
	  "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
	  "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586" },
	{ "A.1 #2", ZERO_KEY, ZERO_NONCE, 1,
	  "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
	  "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f" },
	{ "A.1 #3", "0000000000000000000000000000000000000000000000000000000000000001", ZERO_NONCE,
	  1,
	  "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
	  "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0" },
	{ "A.1 #4", "00ff000000000000000000000000000000000000000000000000000000000000", ZERO_NONCE,
	  2,
	  "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
	  "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096" },
	{ "A.1 #5", ZERO_KEY, "000000000000000000000002", 0,
	  "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c7"
	  "8a970e0e955c14f3a88e741b97c286f75f8fc299e8148362fa198a39531bed6d" },
};

/* Returns the number of bytes. */
static size_t from_hex(uint8_t *out, const char *hex)
{
	size_t len = strlen(hex) / 2;

	for (size_t i = 0; i < len; i++)
		check(sscanf(hex + 2 * i, "%2hhx", &out[i]) == 1, "%s", hex);
	return len;
}

static void check_vector(const char *name, chacha20_fn *expand, const struct vector *vector)
{
	uint8_t key[CHACHA20_KEY_SIZE];
	uint8_t stream[4 * CHACHA20_BLOCK_SIZE];
	uint8_t out[sizeof(stream)];
	uint32_t start[4] = { vector->counter };
	size_t len = from_hex(stream, vector->stream);

	from_hex(key, vector->key);
	from_hex((uint8_t *)(start + 1), vector->nonce);
	expand(out, len, key, start);
	check(!memcmp(out, stream, len), "%s: not the answer of RFC 8439, %s", name,
	      vector->section);
}

enum {
	BLOCKS = 128,
};

static void check_split(const struct chacha20 *core, const uint8_t *key, const uint32_t start[4],
			const uint8_t *stream, size_t split)
{
	const uint64_t counter = ((uint64_t)start[1] << 32 | start[0]) + split;
	const uint32_t then[4] = { (uint32_t)counter, (uint32_t)(counter >> 32), start[2],
				   start[3] };
	uint8_t out[BLOCKS * CHACHA20_BLOCK_SIZE];
	const size_t first = split * CHACHA20_BLOCK_SIZE;

	core->expand(out, first, key, start);
	core->expand(out + first, sizeof(out) - first, key, then);
	check(!memcmp(out, stream, sizeof(out)),
	      "%s: %d blocks from counter %08x%08x on, split after %zu", core->name, BLOCKS,
	      start[1], start[0], split);
}

/* The counter's low word, or all of it, overflows in the middle, at each place of a vector. */
static void check_counters(const struct chacha20 *core)
{
	static const uint32_t high[] = { 0, 1, UINT32_MAX };
	uint8_t stream[BLOCKS * CHACHA20_BLOCK_SIZE];
	uint8_t key[CHACHA20_KEY_SIZE];

	from_hex(key, COUNT_KEY);
	for (size_t i = 0; i < sizeof(high) / sizeof(*high); i++) {
		for (uint32_t before = 0; before <= BLOCKS; before++) {
			const uint32_t start[4] = { -before, high[i], 0x01020304, UINT32_MAX };

			reference_expand(stream, sizeof(stream), key, start);
			check_split(core, key, start, stream, 0);
			check_split(core, key, start, stream, 1 + before % (BLOCKS - 1));
		}
	}
}

/* As in the kernel's selftest, but without its random keys, which other tests use. */
static void check_splits(const struct chacha20 *core)
{
	static const uint32_t starts[][4] = { { 0 }, { (uint32_t)-BLOCKS + 2 } };
	uint8_t stream[BLOCKS * CHACHA20_BLOCK_SIZE];
	uint8_t key[CHACHA20_KEY_SIZE];

	from_hex(key, COUNT_KEY);
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
		reference_expand(stream, sizeof(stream), key, starts[i]);
		for (size_t split = 0; split < BLOCKS; split++)
			check_split(core, key, starts[i], stream, split);
	}
}

static void test(const struct chacha20 *core)
{
	for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++)
		check_vector(core->name, core->expand, &vectors[i]);
	check_counters(core);
	check_splits(core);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++) {
		check_vector("reference", reference_expand, &vectors[i]);
		check_vector("expected", expected_expand, &vectors[i]);
	}
	return each_core(test);
}
