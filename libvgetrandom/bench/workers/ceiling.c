/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The ChaCha20 core alone: what bulk could reach if keys cost nothing. The argument names the
 * vector instructions.
 */
#include "simd.h"
#include "worker.h"

static const struct chacha20 *core;
static uint8_t key[CHACHA20_KEY_SIZE];
static _Thread_local uint32_t start[4];

static void prepare(int argc, char **argv)
{
	if (argc != 2)
		fail("the argument names the vector instructions");
	core = chacha20_named(argv[1]);
}

static void thread_begin(unsigned int index)
{
	start[2] = index;
}

static inline void draw(void *buf, size_t len)
{
	/* The nonce's other half, so that no draw repeats another. */
	start[3]++;
	core->expand(buf, len, key, start);
}
