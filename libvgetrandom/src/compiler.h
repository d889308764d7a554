/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VGR_COMPILER_H
#define VGR_COMPILER_H

#if !defined(__linux__) || !defined(__LP64__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ ||      \
	!(defined(__x86_64__) || defined(__aarch64__))
#error "libvgetrandom is for Linux on x86-64 and arm64, both 64-bit and little-endian"
#endif

#define likely(x)     __builtin_expect(!!(x), 1)
#define unlikely(x)   __builtin_expect(!!(x), 0)
#define noinline      __attribute__((noinline))
#define always_inline inline __attribute__((always_inline))

/*
 * Functions of the interface, and those that link-time optimization should inline. On arm64 it must
 * inline none: a compiler keeps the thread's address there while a function runs, and a coroutine
 * may go on in another thread. On x86-64 each access to a thread's variable finds the thread anew.
 */
#if defined(__aarch64__)
#define api        noinline __attribute__((visibility("default")))
#define api_inline api
#else
#define api        __attribute__((visibility("default")))
#define api_inline api inline
#endif

/* A signal handler sees everything above this as done, and nothing below it. */
#define signal_fence() __asm__ volatile("" ::: "memory")

/*
 * Between two reads of memory that the kernel may drop: if the second read finds it intact, so did
 * the first. x86 reads in order, and a kernel that takes pages interrupts the CPU.
 */
#if defined(__aarch64__)
#define drop_fence() __asm__ volatile("dmb ishld" ::: "memory")
#else
#define drop_fence() signal_fence()
#endif

/* Memory that a signal handler, a fork or the kernel may change between two accesses. */
#define READ_ONCE(x)      (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, to) (*(volatile __typeof__(x) *)&(x) = (to))

#endif
