/* SPDX-License-Identifier: GPL-2.0 */
/* Prints records of raw values for init to forward, and makes the arrays for them. */
#ifndef TEMPER_RECORD_H
#define TEMPER_RECORD_H

#include <stdio.h>
#include <stdlib.h>

enum { VALUES_PER_RECORD = 1000 };

/* The exit status of a program that cannot run on this kernel. */
enum { UNSUPPORTED = 77 };

static inline void print_values(const char *type, const char *name, const long *values,
				size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (i % VALUES_PER_RECORD == 0)
			printf("%s{\"type\":\"%s\",\"name\":\"%s\",\"values\":[", i ? "]}\n" : "",
			       type, name);
		printf("%s%ld", i % VALUES_PER_RECORD ? "," : "", values[i]);
	}
	puts("]}");
}

static inline void print_samples(const char *name, const long *values, size_t count)
{
	print_values("samples", name, values, count);
}

static inline void print_definition(const char *name, const long *values, size_t count)
{
	print_values("definition", name, values, count);
}

static inline long *array(size_t count)
{
	long *values = calloc(count, sizeof(*values));

	if (!values || !count) {
		fprintf(stderr, "no memory for %zu values\n", count);
		exit(1);
	}
	return values;
}

/* The only argument of most programs: the number of samples. */
static inline size_t samples_wanted(int argc, char **argv)
{
	return argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
}

#endif
