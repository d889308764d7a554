// SPDX-License-Identifier: MIT OR Apache-2.0
/* Description: what fills a buffer continues where a call ended early, and ends if calls fail. */
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "fill.h"

enum {
	LEN = 100,
	CALLS_MAX = 8,
};

/* What the calls return, in turn. */
static const ssize_t *returns;
static uint8_t next_byte;

static ssize_t source(void *buf, size_t len, unsigned int flags)
{
	ssize_t got = *returns++;
	uint8_t *out = buf;

	check(!flags, "flags %u", flags);
	check(got <= (ssize_t)len, "%zd bytes, and no more than %zu are wanted", got, len);
	for (ssize_t i = 0; i < got; i++)
		out[i] = ++next_byte;
	return got;
}

static int fill_by(const ssize_t *calls, uint8_t buf[LEN])
{
	returns = calls;
	next_byte = 0;
	memset(buf, 0, LEN);
	return fill(buf, LEN, source);
}

int main(void)
{
	static const ssize_t in_parts[] = { 1, -EINTR, 60, -EINTR, -EINTR, 8, 31 };
	static const ssize_t fails[] = { 50, -EPERM };
	static const ssize_t gives_nothing[] = { 50, 0 };
	uint8_t buf[LEN];

	check(!fill_by(in_parts, buf), "it failed");
	for (int i = 0; i < LEN; i++)
		check(buf[i] == i + 1, "byte %d is %d", i, buf[i]);
	check(returns == in_parts + 7, "%zd calls", returns - in_parts);
	check(fill_by(fails, buf) == -EPERM, "the error is lost");
	check(fill_by(gives_nothing, buf) == -EIO, "no bytes and no error");
	check(!fill(buf, 0, source), "nothing to fill");
	return 0;
}
