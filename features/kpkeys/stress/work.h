/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that put a kernel under stress, repeated for ever. */
#ifndef WORK_H
#define WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PAGE = 4096, HUGE_PAGE = 2 << 20 };

struct kind {
	const char *name;
	/* Do one; false if there is nothing to count, for example for lack of memory. */
	bool (*once)(void);
	/* Whether it takes much memory, and so runs in the cgroup with little memory. */
	bool limited;
};

extern const struct kind memory_kinds[];
extern const size_t memory_kinds_number;
extern const struct kind system_kinds[];
extern const size_t system_kinds_number;

/* A pseudorandom number below `limit`, different in each process. */
uint32_t below(uint32_t limit);

/*
 * Say that the kernel answered, in the midst of an operation: under pressure one may take
 * minutes, page by page.
 */
void answered(void);

/* Say what is wrong on the console, and end the process with status 1. */
void __attribute__((noreturn)) wrong(const char *what);

/* Write a word to a file of /proc or /sys; false if the file does not accept it. */
bool put(const char *path, const char *what);

/* Load a module of the initramfs; false if the kernel has no memory for it. */
bool load(const char *path);

/*
 * Wait for a child; false if the kernel killed it for memory, or its alarm did; wrong() if
 * it failed.
 */
bool ended_well(int child);

#endif
