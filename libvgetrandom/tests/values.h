/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* 64-bit values that must all be different. */
#ifndef VGR_TESTS_VALUES_H
#define VGR_TESTS_VALUES_H

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"

/* Maps zeros, shared with children; ends the test if there is no memory. */
static inline void *values_map(size_t size)
{
	void *values = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (values == MAP_FAILED)
		cannot_run("no memory for %zu MiB of values", size >> 20);
	return values;
}

/* One pass of a radix sort, by a byte. */
static inline void values_sort_by(uint64_t *to, const uint64_t *from, size_t count, int shift)
{
	size_t ends[257] = { 0 };

	for (size_t i = 0; i < count; i++)
		ends[(from[i] >> shift & 0xff) + 1]++;
	for (int i = 0; i < 256; i++)
		ends[i + 1] += ends[i];
	for (size_t i = 0; i < count; i++)
		to[ends[from[i] >> shift & 0xff]++] = from[i];
}

static inline void values_sort(uint64_t *values, size_t count)
{
	uint64_t *scratch = values_map(count * sizeof(*scratch));

	for (int shift = 0; shift < 64; shift += 16) {
		values_sort_by(scratch, values, count, shift);
		values_sort_by(values, scratch, count, shift + 8);
	}
	munmap(scratch, count * sizeof(*scratch));
}

/* Sorts them. There may be no zero, because forgotten and dropped memory gives zeros. */
static inline void values_check_unique(uint64_t *values, size_t count)
{
	values_sort(values, count);
	check(values[0], "a value is zero");
	for (size_t i = 1; i < count; i++)
		check(values[i] != values[i - 1], "%016" PRIx64 " was drawn twice", values[i]);
	printf("%zu values, no two equal; by chance some would be with a probability of %.1e\n",
	       count, ldexp((double)count * (double)count, -65));
}

#endif
