// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What compilers call on their own. The shared objects bring them along, as they are linked to no
 * libc. Built so that the loops are not turned into calls of themselves.
 */
#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t len);
void *memset(void *to, int byte, size_t len);

void *memcpy(void *restrict to, const void *restrict from, size_t len)
{
	unsigned char *out = to;
	const unsigned char *in = from;

	while (len--)
		*out++ = *in++;
	return to;
}

void *memset(void *to, int byte, size_t len)
{
	unsigned char *out = to;

	while (len--)
		*out++ = (unsigned char)byte;
	return to;
}
