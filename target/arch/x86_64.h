/* SPDX-License-Identifier: Apache-2.0 */
/* What a workload needs of an x86-64 CPU: a clock, system calls, markers. */
#ifndef TEMPER_ARCH_X86_64_H
#define TEMPER_ARCH_X86_64_H

#include <stdint.h>

/*
 * The fences keep a real CPU from starting the timed code early or from reading
 * the clock before it is done. Under exact counts they are one instruction each.
 */
static inline uint64_t clock_begin(void)
{
	uint32_t low, high;

	__asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
	return ((uint64_t)high << 32) | low;
}

static inline uint64_t clock_end(void)
{
	return clock_begin();
}

static inline long syscall0(long number)
{
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(number) : "rcx", "r11", "memory");
	return result;
}

/* No compiler emits these; the plugin counts what runs between the two. */
static inline void marker_begin(void)
{
	__asm__ volatile("xchg %%r10, %%r10" : : : "memory");
}

static inline void marker_end(void)
{
	__asm__ volatile("xchg %%r11, %%r11" : : : "memory");
}

#endif
