// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Functions that compilers call on their own. The shared objects include them, since they are
 * linked to no libc. Build flags keep compilers from turning the loops into calls to themselves.
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
