// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Replaces libc's own functions in dynamic programs that are started with LD_PRELOAD. They use
 * pass-through, never batch.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <vgetrandom.h>

#include "compiler.h"
#include "fill.h"
#include "sys.h"

enum {
	GETENTROPY_MAX = 256,
};

#pragma weak __errno_location
int *__errno_location(void);

api ssize_t getrandom(void *buf, size_t len, unsigned int flags);
api int getentropy(void *buf, size_t len);
api uint32_t arc4random(void);
api void arc4random_buf(void *buf, size_t len);
api uint32_t arc4random_uniform(uint32_t bound);

/*
 * Programs that know nothing about the library may forbid mmap() in their sandbox before they draw;
 * without this, the first draw would then kill them.
 */
__attribute__((constructor)) static void map_now(void)
{
	uint8_t byte;
	ssize_t got = vgetrandom(&byte, sizeof(byte), 0);

	/* The program will see for itself whether it can draw. */
	(void)got;
}

static void set_errno(int number)
{
	if (__errno_location)
		*__errno_location() = number;
}

api ssize_t getrandom(void *buf, size_t len, unsigned int flags)
{
	ssize_t got = vgetrandom(buf, len, flags);

	if (likely(got >= 0))
		return got;
	set_errno((int)-got);
	return -1;
}

api int getentropy(void *buf, size_t len)
{
	int err = len > GETENTROPY_MAX ? -EIO : fill(buf, len, vgetrandom);

	if (!err)
		return 0;
	set_errno(-err);
	return -1;
}

/* arc4random() promises to succeed. A filter may refuse getrandom(2) but allow the device. */
static void fill_from_device(uint8_t *out, size_t len)
{
	long fd = sys_open_readonly("/dev/urandom");

	while (fd >= 0 && len) {
		long got = sys_read((int)fd, out, len);

		if (got == -EINTR)
			continue;
		if (got <= 0)
			break;
		out += got;
		len -= (size_t)got;
	}
	if (len)
		__builtin_trap();
	sys_close((int)fd);
}

api void arc4random_buf(void *buf, size_t len)
{
	if (fill(buf, len, vgetrandom))
		fill_from_device(buf, len);
}

api uint32_t arc4random(void)
{
	uint32_t value;

	arc4random_buf(&value, sizeof(value));
	return value;
}

/* Avoids the bias of a remainder: D. Lemire, Fast Random Integer Generation in an Interval. */
api uint32_t arc4random_uniform(uint32_t bound)
{
	uint64_t product = (uint64_t)arc4random() * bound;

	if ((uint32_t)product < bound) {
		uint32_t biased = -bound % bound;

		while ((uint32_t)product < biased)
			product = (uint64_t)arc4random() * bound;
	}
	return (uint32_t)(product >> 32);
}
