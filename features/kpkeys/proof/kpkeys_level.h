/* SPDX-License-Identifier: GPL-2.0 */
/* The interface between the module and the program that uses it. */
#ifndef KPKEYS_LEVEL_H
#define KPKEYS_LEVEL_H

#include <linux/ioctl.h>
#include <linux/types.h>

#include "kpkeys_try.h"

/* Who tries to write while a thread is in the middle of a section that may write. */
enum kpkeys_level_context {
	/* Code that interrupts the thread on its CPU */
	KPKEYS_LEVEL_INTERRUPT,
	KPKEYS_LEVEL_EXCEPTION,
	KPKEYS_LEVEL_BREAKPOINT,
	KPKEYS_LEVEL_NMI,
	KPKEYS_LEVEL_WARNING,
	/* Another thread there, which preempts it or runs while it sleeps */
	KPKEYS_LEVEL_PREEMPT,
	KPKEYS_LEVEL_SLEEP,
	/* Another thread on the CPU that it left */
	KPKEYS_LEVEL_MIGRATE,
	/* A thread that it started */
	KPKEYS_LEVEL_NEW_THREAD,
	/* Another thread on another CPU */
	KPKEYS_LEVEL_OTHER_CPU,
	/* The thread itself, after it has left the section */
	KPKEYS_LEVEL_AFTER,
	/* The thread itself, after functions that may write for a moment have returned */
	KPKEYS_LEVEL_AFTER_OTHERS,
	/* The thread itself, with the register open without a section, after an interrupt */
	KPKEYS_LEVEL_OPEN_REGISTER,
	/* The thread itself, after a return to user mode without leaving the section */
	KPKEYS_LEVEL_OPEN_SECTION,
	/* The thread itself, after it slept in the section and its records were put back */
	KPKEYS_LEVEL_REPLAY,
	/* A debugger's single step on its CPU */
	KPKEYS_LEVEL_DEBUG,
	/* The thread itself, after it has left a section with another one inside */
	KPKEYS_LEVEL_NESTED,
	/* A function that a loop over entries calls for somebody else */
	KPKEYS_LEVEL_CALLED,
	/* The thread itself, after another CPU has added to the sections it is in */
	KPKEYS_LEVEL_HELD_OPEN,
	/* The thread itself, after a fault that mapped the pages of a file */
	KPKEYS_LEVEL_FILE_FAULT,
	/* The thread itself, after it has left a section in which it used vmalloc */
	KPKEYS_LEVEL_VMALLOC,
	/* Another thread, after one that had the register open without a section */
	KPKEYS_LEVEL_SWITCHED_OPEN,
	/* The thread itself, after an interrupt that left a section of its own open */
	KPKEYS_LEVEL_LEAKY_INTERRUPT,
	/* The thread itself, in a system call after what that does */
	KPKEYS_LEVEL_AFTER_CALL,
	KPKEYS_LEVEL_CONTEXTS,
};

/* Of a system call */
#define KPKEYS_LEVEL_ARGUMENTS 5

/*
 * @context: enum kpkeys_level_context
 * @init_mm: its address in /proc/kallsyms, since no module can link to it
 * @user_mode_thread: likewise
 * @file: for KPKEYS_LEVEL_FILE_FAULT: where two pages of a file are mapped that are in
 *        memory and that nobody has looked at there
 * @fault: for KPKEYS_LEVEL_EXCEPTION on arm64: where the device is mapped, if nobody has
 *         looked at it there
 * @call: for KPKEYS_LEVEL_AFTER_CALL: the address of the system call's function
 * @arguments: what it gets; it must not fail
 * @end: how the write ended
 */
struct kpkeys_level_attack {
	__u32 context;
	__u32 unused;
	__u64 init_mm;
	__u64 user_mode_thread;
	__u64 file;
	__u64 fault;
	__u64 call;
	__u64 arguments[KPKEYS_LEVEL_ARGUMENTS];
	struct kpkeys_try end;
};

/*
 * For all contexts but KPKEYS_LEVEL_OPEN_SECTION, and on arm64 KPKEYS_LEVEL_BREAKPOINT and
 * KPKEYS_LEVEL_NMI. Call it on CPU 0 with CPU 1 online. Fails with ENXIO where sections do
 * not keep the right to write, so that there is no middle of one.
 */
#define KPKEYS_LEVEL_ATTACK _IOWR('L', 0, struct kpkeys_level_attack)
/* For that one: return to user mode in the middle of a section (or ENXIO); then try. */
#define KPKEYS_LEVEL_STAY_IN_SECTION _IO('L', 1)
#define KPKEYS_LEVEL_TRY             _IOR('L', 2, struct kpkeys_try)

#endif
