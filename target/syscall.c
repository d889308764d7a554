// SPDX-License-Identifier: Apache-2.0
/*
 * Description: times a small system call, each call separately.
 *
 * Usage: syscall getpid|getppid|invalid CALLS WARMUP
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "arch/arch.h"
#include "sample.h"

/* Far above any table, so that the kernel rejects it at once. */
#define INVALID_NUMBER 0xffff

static const struct call {
	const char *word;
	const char *workload;
	long number;
} calls[] = {
	{ "getpid", "syscall/getpid", SYS_getpid },
	{ "getppid", "syscall/getppid", SYS_getppid },
	{ "invalid", "syscall/invalid", INVALID_NUMBER },
};

static const struct call *find_call(const char *word)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(calls[i].word, word))
			return &calls[i];
	return NULL;
}

static void time_calls(struct samples *s, long number, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t begin = clock_begin(), value;

		syscall0(number);
		value = clock_end() - begin;
		samples_add(s, value, tick_clock());
	}
}

int main(int argc, char **argv)
{
	const struct call *call = argc == 4 ? find_call(argv[1]) : NULL;
	struct samples *warm, *s;
	struct workload w;
	uint64_t begin;

	if (!call) {
		fprintf(stderr, "usage: %s getpid|getppid|invalid CALLS WARMUP\n", argv[0]);
		return 1;
	}
	w = (struct workload){
		.name = call->workload,
		.count = strtoull(argv[2], NULL, 10),
		.warmup = strtoull(argv[3], NULL, 10),
		.operations = 1,
		.overhead = clock_overhead(),
	};
	warm = samples_create();
	samples_begin(warm);
	time_calls(warm, call->number, w.warmup);
	samples_destroy(warm);

	s = samples_create();
	samples_begin(s);
	marker_begin();
	begin = clock_begin();
	time_calls(s, call->number, w.count);
	w.elapsed = clock_end() - begin;
	marker_end();
	samples_end(s);
	samples_print(s, &w);
	samples_destroy(s);
	return 0;
}
