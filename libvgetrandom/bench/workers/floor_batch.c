/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A number of a buffer, at the least that it costs: see floor.h. The argument names the vector
 * instructions. It is built twice, with DRAW as each of the functions.
 */
#include "floor.h"
#include "simd.h"
#include "worker.h"

static void prepare(int argc, char **argv)
{
	struct floor_config config = { .chacha20 = vgr_chacha20_widest() };

	if (argc == 2)
		config.chacha20 = chacha20_named(argv[1]);
	floor_prepare(&config);
}

static void thread_begin(unsigned int index)
{
	floor_begin(index, NULL);
}

static inline void draw(void *buf, size_t len)
{
	uint64_t word;

	for (size_t done = 0; done < len; done += sizeof(word)) {
		size_t rest = len - done;

		word = DRAW();
		memcpy((uint8_t *)buf + done, &word, rest < sizeof(word) ? rest : sizeof(word));
	}
}
