/* SPDX-License-Identifier: GPL-2.0 */
/* The counter that user space and the kernel both read, without a system call. */
#ifndef COUNTER_H
#define COUNTER_H

#include <stdint.h>

/* Ordered: read after all that stands before it and before all that follows. */
static inline uint64_t counter(void)
{
#if defined(__x86_64__)
	uint32_t low, high;

	__asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
	return ((uint64_t)high << 32) | low;
#elif defined(__aarch64__)
	uint64_t value;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(value) : : "memory");
	return value;
#else
#error "no counter for this architecture"
#endif
}

#endif
