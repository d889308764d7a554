/* SPDX-License-Identifier: GPL-2.0 */
/* The counter that user space reads without a system call, and that the kernel reads too. */
#ifndef COUNTER_H
#define COUNTER_H

#include <stdint.h>

/* Ordered: the read happens after all code before it and before all code after it. */
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
