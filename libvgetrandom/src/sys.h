/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* System calls without libc: they do not set errno, and work before libc does. */
#ifndef VGR_SYS_H
#define VGR_SYS_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include "compiler.h"

static inline long sys_call6(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#endif
}

static inline ssize_t sys_getrandom(void *buf, size_t len, unsigned int flags)
{
	return sys_call6(__NR_getrandom, (long)buf, (long)len, (long)flags, 0, 0, 0);
}

static inline long sys_prctl(int option, void *buf, size_t len)
{
	return sys_call6(__NR_prctl, option, (long)buf, (long)len, 0, 0, 0);
}

/* Returns NULL if there is no memory. */
static inline void *sys_mmap(size_t len, int prot, int flags)
{
	long ret = sys_call6(__NR_mmap, 0, (long)len, prot, flags, -1, 0);

	/* Error numbers are addresses in the last page, where nothing is ever mapped. */
	return (unsigned long)ret > -4096UL ? NULL : (void *)ret;
}

static inline long sys_open_readonly(const char *path)
{
	return sys_call6(__NR_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
}

static inline long sys_read(int fd, void *buf, size_t len)
{
	return sys_call6(__NR_read, fd, (long)buf, (long)len, 0, 0, 0);
}

static inline void sys_close(int fd)
{
	sys_call6(__NR_close, fd, 0, 0, 0, 0, 0);
}

static inline void sys_munmap(void *addr, size_t len)
{
	sys_call6(__NR_munmap, (long)addr, (long)len, 0, 0, 0, 0);
}

#endif
