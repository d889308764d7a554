/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Random numbers of the kernel's generator without a system call, for programs on any libc.
 *
 * Any thread, and a signal handler at any moment, may call these functions; handlers must not call
 * vgetrandom_prewarm() or vgetrandom_release(). Programs that fork need not do anything.
 * SECURITY.md says what is promised and what is not.
 *
 * A call needs up to 3 KiB of stack: an alternative stack for signals must be larger than
 * sysconf(_SC_MINSIGSTKSZ) by that.
 */
#ifndef VGETRANDOM_H
#define VGETRANDOM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Of this header. Before 1.0, a new minor version may change the interface. */
#define VGETRANDOM_VERSION_MAJOR 0
#define VGETRANDOM_VERSION_MINOR 1
#define VGETRANDOM_VERSION_PATCH 0
/* For comparisons: VGETRANDOM_VERSION >= 0x000200 is 0.2.0 and later. */
#define VGETRANDOM_VERSION                                                                         \
	(VGETRANDOM_VERSION_MAJOR << 16 | VGETRANDOM_VERSION_MINOR << 8 | VGETRANDOM_VERSION_PATCH)

#if defined(__GNUC__)
#define VGETRANDOM_MUST_USE __attribute__((warn_unused_result))
#else
#define VGETRANDOM_MUST_USE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Pass-through: the kernel's own generator, as secure as the system call. */

/*
 * Does what getrandom(2) does, with its flags, and usually without a system call. Never touches
 * errno. The vDSO function does not reject flags that contradict each other, GRND_RANDOM and
 * GRND_INSECURE.
 *
 * Returns the number of bytes written to buf, or a negative error number: those of getrandom(2). A
 * bad buf is a SIGSEGV here, and EFAULT only where a system call serves.
 */
VGETRANDOM_MUST_USE
ssize_t vgetrandom(void *buf, size_t len, unsigned int flags);

/*
 * Makes everything that the calling thread will need, so that its later calls make no system call,
 * for example in a sandbox: not for memory, and not in signal handlers nested up to three deep. One
 * remains, which no program can avoid: the vDSO function itself calls getrandom(2) for a new key
 * when the kernel has reseeded its generator, about once a minute, when the kernel took the state's
 * page back, and after a fork. Not for signal handlers: libc may allocate memory for it.
 *
 * Returns 0, or a negative error number if calls of this thread will make system calls: -ENOSYS if
 * the kernel offers no vDSO function, -ENOMEM if there is no memory, or an error of getrandom(2).
 */
int vgetrandom_prewarm(void);

/*
 * Gives back what the calling thread holds; its next call takes it again. For threads that end
 * without libc's knowledge: libc's own threads give back automatically. Not for signal handlers.
 */
void vgetrandom_release(void);

enum vgetrandom_status {
	/* The kernel's vDSO function serves this thread. */
	VGETRANDOM_VDSO = 0,
	/* System calls: the kernel has no such function (before 6.11), or hides it. */
	VGETRANDOM_NO_VDSO = 1,
	/* System calls: there was no memory for a state. Tried again from time to time. */
	VGETRANDOM_NO_MEMORY = 2,
	/*
	 * The vDSO function, with a state borrowed for each call, which is somewhat slower: this
	 * thread is about to end, or libc would not tell when it ends.
	 */
	VGETRANDOM_BORROWED = 3
};

/* How the next call of this thread will be served. */
enum vgetrandom_status vgetrandom_status(void);

/* The status in words. */
const char *vgetrandom_status_text(enum vgetrandom_status status);

/* The vector instructions in use: "avx512", "avx2", "sse2" or "neon". */
const char *vgetrandom_simd(void);

/*
 * Batch: random numbers from a buffer of the calling thread, which the generator above fills. For
 * programs that draw many small numbers.
 *
 * A BATCH DOES NOT NOTICE that its virtual machine was cloned or restored from a snapshot until it
 * is filled again: once the kernels know, both machines may still get the same numbers, at most
 * 3072 bytes. Pass-through notices when the kernel does. A batch notices forks.
 *
 * These functions end the program (SIGILL or SIGTRAP) if the kernel refuses to give random bytes,
 * which it does only under a seccomp filter: a caller can do nothing sensible without them.
 */
uint32_t vgetrandom_batch_u32(void);
uint64_t vgetrandom_batch_u64(void);
void vgetrandom_batch_bytes(void *buf, size_t len);

#ifdef __cplusplus
}
#endif

#endif
