/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* All that the library asks of libc. Where there is none, it does without. */
#ifndef VGR_LIBC_H
#define VGR_LIBC_H

#include <stdbool.h>
#include <stdint.h>

#define LIBC_CANNOT_TELL ((const void *)UINTPTR_MAX)

/* Where libc has it that the kernel's image is: NULL for nowhere, or LIBC_CANNOT_TELL. */
const void *libc_vdso_image(void);

/* To be called once, not by a signal handler, before the other two. */
void libc_prepare(void (*at_thread_exit)(void *));

enum libc_caller {
	/* May be a signal handler that interrupted malloc(). */
	LIBC_CALLER_ANY,
	LIBC_CALLER_ORDINARY,
};

/* Whether libc will call at_thread_exit(argument), not NULL, when the calling thread ends. */
bool libc_tells_thread_exit(void *argument, enum libc_caller caller);

#endif
