// SPDX-License-Identifier: GPL-2.0
/* Attacks on registers that switch the protection of memory on. */
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#ifdef CONFIG_X86_64
#include <asm/processor-flags.h>
#include <asm/special_insns.h>
#endif
#include "probe.h"

#ifdef CONFIG_X86_64
/* Does the kernel's own function let an attacker write to constants? */
static void clear_cr0(struct tally *tally)
{
	unsigned long flags, before;

	local_irq_save(flags);
	before = read_cr0();
	native_write_cr0(before & ~X86_CR0_WP);
	count(tally, !(read_cr0() & X86_CR0_WP));
	/* The function could set what was not set before. */
	asm volatile("mov %0, %%cr0" : : "r"(before) : "memory");
	local_irq_restore(flags);
}

#ifdef CONFIG_KPROBES
static void (*find_write_cr4(void))(unsigned long)
{
	struct kprobe probe = { .symbol_name = "native_write_cr4" };
	void *address;

	/* Modules may not ask for an address, but get that of what they watch. */
	if (register_kprobe(&probe))
		return NULL;
	address = probe.addr;
	unregister_kprobe(&probe);
	return address;
}

/* The same of memory of user space: does it switch SMEP and SMAP off? */
static void clear_cr4(struct tally *tally)
{
	static const unsigned long bits[] = { X86_CR4_SMEP, X86_CR4_SMAP, X86_CR4_UMIP };
	void (*write_cr4)(unsigned long) = find_write_cr4();
	unsigned long flags, before;

	if (!write_cr4)
		return;
	local_irq_save(flags);
	before = native_read_cr4();
	for (int i = 0; i < ARRAY_SIZE(bits); i++) {
		if (!(before & bits[i]))
			continue;
		write_cr4(before & ~bits[i]);
		count(tally, !(native_read_cr4() & bits[i]));
		asm volatile("mov %0, %%cr4" : : "r"(before) : "memory");
	}
	local_irq_restore(flags);
}
#endif
#endif

const struct attack register_attacks[] = {
#ifdef CONFIG_X86_64
	{ "clear_cr0", clear_cr0 },
#ifdef CONFIG_KPROBES
	{ "clear_cr4", clear_cr4 },
#endif
#endif
	{},
};
