/* SPDX-License-Identifier: Apache-2.0 */
/* What a workload needs from an x86-64 CPU: a clock, system calls, markers, AES. */
#ifndef TEMPER_ARCH_X86_64_H
#define TEMPER_ARCH_X86_64_H

#include <stdbool.h>
#include <stdint.h>

/* The serial port that is not the console, as src/temper/arch has it. */
#define CHANNEL "/dev/ttyS1"

/*
 * The fences keep a real CPU from starting the timed code early or from reading the
 * clock before it is done. Under exact counts each is one instruction.
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

/* No compiler emits these; the plugin counts the instructions from begin to end. */
static inline void marker_begin(void)
{
	__asm__ volatile("xchg %%r10, %%r10" : : : "memory");
}

/* The plugin does not count what runs from here to the next marker. */
static inline void marker_pause(void)
{
	__asm__ volatile("xchg %%r12, %%r12" : : : "memory");
}

static inline void marker_end(void)
{
	__asm__ volatile("xchg %%r11, %%r11" : : : "memory");
}

/*
 * Both halves of a product, xored. In assembly, as in the kernel series, because GCC
 * needlessly spills a 128-bit variable.
 */
static inline uint64_t mul_fold(uint64_t a, uint64_t b)
{
	uint64_t high;

	__asm__("mulq %[b]" : "+a"(a), "=d"(high) : [b] "rm"(b) : "cc");
	return a ^ high;
}

static inline bool aes_supported(void)
{
	return __builtin_cpu_supports("aes");
}

/*
 * Two AES rounds of @state with @key (aligned to 16 bytes); returns the first word.
 * Restores the register, because in entry code it is the user's.
 */
static inline uint32_t aes_two_rounds(uint8_t *state, const uint8_t *key)
{
	uint8_t user[16];
	uint32_t word;

	__asm__ volatile(
		"movups %%xmm0, %[user]\n\t"
		"movups %[state], %%xmm0\n\t"
		"aesenc %[key], %%xmm0\n\t"
		"aesenc %[key], %%xmm0\n\t"
		"movups %%xmm0, %[state]\n\t"
		"movd %%xmm0, %[word]\n\t"
		"movups %[user], %%xmm0"
		: [word] "=r"(word), [state] "+m"(*(uint8_t (*)[16])state), [user] "=m"(user)
		: [key] "m"(*(const uint8_t (*)[16])key));
	return word;
}

#endif
