// SPDX-License-Identifier: MIT OR Apache-2.0
/* Description: a static program without any libc draws by all paths. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <vgetrandom.h>

#include "sys.h"

enum {
	TLS_SIZE = 4096,
	BULK = 100000,
	EXIT_OK = 0,
	EXIT_THREAD_POINTER,
	EXIT_PREWARM,
	EXIT_STATUS,
	EXIT_SHORT,
	EXIT_BULK,
	EXIT_BATCH,
};

void run(void);

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tand $-16, %rsp\n\tcall run\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n\tmov x29, #0\n\tbl run\n");
#endif

static long tls[2 * TLS_SIZE / sizeof(long)] __attribute__((aligned(64)));

/* Thread-local variables begin as zero, and lie below the thread pointer or above it. */
static bool set_thread_pointer(void)
{
	long *pointer = tls + TLS_SIZE / sizeof(long);

#if defined(__x86_64__)
	enum { ARCH_SET_FS = 0x1002 };

	*pointer = (long)pointer;
	return sys_call6(SYS_arch_prctl, ARCH_SET_FS, (long)pointer, 0, 0, 0, 0) == 0;
#elif defined(__aarch64__)
	__asm__ volatile("msr tpidr_el0, %0" : : "r"(pointer) : "memory");
	return true;
#endif
}

/* Whether the buffer is filled to its end: 16 bytes of random numbers are not all zero. */
static bool is_filled(const uint8_t *buf, size_t len)
{
	uint8_t first = 0, last = 0;

	for (int i = 0; i < 16; i++) {
		first |= buf[i];
		last |= buf[len - 1 - (size_t)i];
	}
	return first && last;
}

static int draw_all(void)
{
	static uint8_t bulk[BULK];
	uint64_t a = 0, b = 0;
	int err = vgetrandom_prewarm();

	if (err && err != -ENOSYS)
		return EXIT_PREWARM;
	if (vgetrandom_status() != (err ? VGETRANDOM_NO_VDSO : VGETRANDOM_VDSO))
		return EXIT_STATUS;
	if (vgetrandom(&a, sizeof(a), 0) != sizeof(a) ||
	    vgetrandom(&b, sizeof(b), 0) != sizeof(b) || a == b)
		return EXIT_SHORT;
	if (vgetrandom(bulk, sizeof(bulk), 0) != sizeof(bulk) || !is_filled(bulk, sizeof(bulk)))
		return EXIT_BULK;
	if (vgetrandom_batch_u64() == vgetrandom_batch_u64())
		return EXIT_BATCH;
	vgetrandom_release();
	return EXIT_OK;
}

void run(void)
{
	int status = set_thread_pointer() ? draw_all() : EXIT_THREAD_POINTER;

	sys_call6(SYS_exit_group, status, 0, 0, 0, 0, 0);
	__builtin_unreachable();
}
