/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The pass-through function, which expands large requests itself. */
#include "library.h"
#include "worker.h"

static inline void draw(void *buf, size_t len)
{
	if (vgetrandom(buf, len, 0) != (ssize_t)len)
		fail("vgetrandom() gave too few bytes");
}
