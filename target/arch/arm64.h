/* SPDX-License-Identifier: Apache-2.0 */
/* What a workload needs from an arm64 CPU: a clock, system calls, markers, AES. */
#ifndef TEMPER_ARCH_ARM64_H
#define TEMPER_ARCH_ARM64_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/auxv.h>

/* The serial port that is not the console, as src/temper/arch has it. */
#define CHANNEL "/dev/ttyS0"

/*
 * The barriers keep a real CPU from starting the timed code early or from reading the
 * clock before it is done. Under exact counts each is one instruction.
 */
static inline uint64_t clock_begin(void)
{
	uint64_t now;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(now) : : "memory");
	return now;
}

static inline uint64_t clock_end(void)
{
	return clock_begin();
}

static inline long syscall0(long number)
{
	register long nr __asm__("x8") = number;
	register long result __asm__("x0");

	__asm__ volatile("svc #0" : "=r"(result) : "r"(nr) : "memory");
	return result;
}

/* No compiler emits these; the plugin counts the instructions from begin to end. */
static inline void marker_begin(void)
{
	__asm__ volatile("mov x10, x10" : : : "memory");
}

/* The plugin does not count what runs from here to the next marker. */
static inline void marker_pause(void)
{
	__asm__ volatile("mov x12, x12" : : : "memory");
}

static inline void marker_end(void)
{
	__asm__ volatile("mov x11, x11" : : : "memory");
}

/* Both halves of a product, xored. */
static inline uint64_t mul_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline bool aes_supported(void)
{
	return getauxval(AT_HWCAP) & HWCAP_AES;
}

/*
 * Two AES rounds of @state with @key; returns the first word. Restores the registers,
 * because in entry code they are the user's.
 */
static inline uint32_t aes_two_rounds(uint8_t *state, const uint8_t *key)
{
	uint8_t user[32] __attribute__((aligned(16)));
	uint32_t word;

	__asm__ volatile(".arch_extension aes\n\t"
			 "stp q0, q1, [%[user]]\n\t"
			 "ldr q0, [%[state]]\n\t"
			 "ldr q1, [%[key]]\n\t"
			 "aese v0.16b, v1.16b\n\t"
			 "aesmc v0.16b, v0.16b\n\t"
			 "aese v0.16b, v1.16b\n\t"
			 "aesmc v0.16b, v0.16b\n\t"
			 "str q0, [%[state]]\n\t"
			 "fmov %w[word], s0\n\t"
			 "ldp q0, q1, [%[user]]"
			 : [word] "=r"(word)
			 : [state] "r"(state), [key] "r"(key), [user] "r"(user)
			 : "memory");
	return word;
}

#endif
