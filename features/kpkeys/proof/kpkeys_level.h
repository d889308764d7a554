/* SPDX-License-Identifier: GPL-2.0 */
/* What the module and the program that asks it agree on. */
#ifndef KPKEYS_LEVEL_H
#define KPKEYS_LEVEL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Who tries to write while a thread is in the middle of a section that may. */
enum kpkeys_level_context {
	/* On its CPU: */
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
	/* The thread itself, when it has left the section */
	KPKEYS_LEVEL_AFTER,
	/* The thread itself, when functions have returned that may for a moment */
	KPKEYS_LEVEL_AFTER_OTHERS,
	/* The thread itself, with the register opened by no section, after an interrupt */
	KPKEYS_LEVEL_OPEN_REGISTER,
	/* The thread itself, with a section never left, after a return to user mode */
	KPKEYS_LEVEL_OPEN_SECTION,
	/* A thread that slept, while somebody forged what is noted of sleeping threads */
	KPKEYS_LEVEL_FORGED,
};

/*
 * @context: enum kpkeys_level_context
 * @init_mm: the addresses that /proc/kallsyms has for what no module can link to
 * @user_mode_thread: likewise
 */
struct kpkeys_level_attack {
	__u32 context;
	__u32 unused;
	__u64 init_mm;
	__u64 user_mode_thread;
};

/*
 * From all contexts but KPKEYS_LEVEL_OPEN_SECTION: 1 if the write landed, 0 if not. To be
 * called on CPU 0, with CPU 1 online.
 */
#define KPKEYS_LEVEL_ATTACK _IOW('L', 0, struct kpkeys_level_attack)
/* For that one: return to user mode in the middle of a section; and try, likewise. */
#define KPKEYS_LEVEL_STAY_IN_SECTION _IO('L', 1)
#define KPKEYS_LEVEL_TRY             _IO('L', 2)

#endif
