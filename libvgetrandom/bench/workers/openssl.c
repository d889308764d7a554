/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "worker.h"

#include <openssl/rand.h>

static void prepare(int argc, char **argv)
{
	(void)argc, (void)argv;
}

static void thread_begin(unsigned int index)
{
	(void)index;
}

static inline void draw(void *buf, size_t len)
{
	if (RAND_bytes(buf, (int)len) != 1)
		fail("RAND_bytes() failed");
}
