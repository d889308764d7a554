/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* getrandom() of the libc this runs with, or of what is preloaded. */
#include "worker.h"

#include <sys/random.h>

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
	if (getrandom(buf, len, 0) != (ssize_t)len)
		fail("getrandom() gave too few bytes");
}
