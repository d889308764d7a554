/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "worker.h"

#include <sodium.h>

static void prepare(int argc, char **argv)
{
	(void)argc, (void)argv;
	if (sodium_init() < 0)
		fail("sodium_init() failed");
}

static void thread_begin(unsigned int index)
{
	(void)index;
}

static inline void draw(void *buf, size_t len)
{
	randombytes_buf(buf, len);
}
