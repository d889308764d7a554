/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VGR_FILL_H
#define VGR_FILL_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Calls source, which is like vgetrandom(), until buf is full. Returns 0 or -E. */
static inline int fill(void *buf, size_t len, ssize_t (*source)(void *, size_t, unsigned int))
{
	uint8_t *out = buf;

	while (len) {
		ssize_t got = source(out, len, 0);

		if (got == -EINTR)
			continue;
		/* No bytes and no error: a filter pretends that system calls succeeded. */
		if (got <= 0)
			return got ? (int)got : -EIO;
		out += got;
		len -= (size_t)got;
	}
	return 0;
}

#endif
