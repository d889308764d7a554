/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tries to write to a word of kernel memory, for modules, in any context. What stops the
 * write is asked of the CPU and not of the kernel under test: for one instruction, the
 * handler of page faults is our own.
 */
#ifndef WITNESS_H
#define WITNESS_H

#include <linux/irqflags.h>
#include <linux/uaccess.h>

#include "kpkeys_try.h"
#ifdef CONFIG_X86
#include "witness_x86.h"
#else
#include "witness_arm64.h"
#endif

static void kernels_store(u64 *to, u64 value)
{
	pagefault_disable();
	__put_kernel_nofault(to, &value, u64, fault);
fault:
	pagefault_enable();
}

/*
 * Change a word in use, and undo it. Read back: a store that does not fault need not have
 * landed. The kernel handles the first fault, as it does those of an attacker. The second
 * try finds out what remained of that: a handler may leave rights behind, and a fault
 * makes the CPU forget a translation that was true no more.
 */
static struct kpkeys_try try_to_change(u64 *word)
{
	struct kpkeys_try end = { .code = KPKEYS_NO_FAULT };
	unsigned long flags;
	u64 before, changed;

	local_irq_save(flags);
	before = READ_ONCE(*word);
	kernels_store(word, before ^ HARMLESS);
	changed = (READ_ONCE(*word) ^ before) & HARMLESS;
	if (!changed) {
		witnessed_store(word, before ^ HARMLESS, &end);
		changed = (READ_ONCE(*word) ^ before) & HARMLESS;
	}
	if (changed)
		kernels_store(word, READ_ONCE(*word) ^ HARMLESS);
	local_irq_restore(flags);
	end.landed = !!changed;
	return end;
}

#endif
