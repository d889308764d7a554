/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Everything that the library needs from libc. Without a libc it does without. */
#ifndef VGR_LIBC_H
#define VGR_LIBC_H

#include <stdbool.h>
#include <stdint.h>

#define LIBC_CANNOT_TELL ((const void *)UINTPTR_MAX)

/* The address of the kernel's image according to libc, NULL for none, or LIBC_CANNOT_TELL. */
const void *vgr_libc_vdso_image(void);

/*
 * Call this once, and not in a signal handler. Children call at_fork_in_child() if libc forked
 * them: not those of a bare clone(2), or of _Fork().
 */
void vgr_libc_prepare(void (*at_thread_exit)(void *), void (*at_fork_in_child)(void));

/* Until then, libc tells nothing. */
bool vgr_libc_is_prepared(void);

/* Takes that back: libc calls at_thread_exit() no more. */
void vgr_libc_forget(void);

enum libc_caller {
	/* Possibly a signal handler that interrupted malloc(). */
	LIBC_CALLER_ANY,
	LIBC_CALLER_ORDINARY,
};

/* Whether libc will call at_thread_exit(argument), not NULL, when the calling thread ends. */
bool vgr_libc_tells_thread_exit(void *argument, enum libc_caller caller);

#endif
