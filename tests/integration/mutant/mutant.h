/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Breaks the running kernel on purpose, as a kernel would be whose option is off though
 * it says that it is on, or whose check is patched out. A mutant is a C file that
 * defines break_kernel() and includes this. For x86-64 and one CPU.
 */
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/string.h>
#include <asm/special_insns.h>
#include <asm/tlbflush.h>

static const u8 end_branch[] = { 0xf3, 0x0f, 0x1e, 0xfa };

/* What follows endbr64, where there is one, of a function that need not be exported. */
static unsigned long __maybe_unused body_of(const char *name)
{
	struct kprobe probe = { .symbol_name = "kallsyms_lookup_name" };
	unsigned long (*lookup)(const char *name);
	unsigned long address;

	if (register_kprobe(&probe))
		return 0;
	lookup = (void *)probe.addr;
	unregister_kprobe(&probe);
	address = lookup(name);
	if (address && !memcmp((void *)address, end_branch, sizeof(end_branch)))
		address += sizeof(end_branch);
	return address;
}

static void set_cr0(unsigned long value)
{
	asm volatile("mov %0, %%cr0" : : "r"(value) : "memory");
}

static int __maybe_unused overwrite(unsigned long place, const void *code, size_t size)
{
	unsigned long flags, cr0;

	if (!place)
		return -ENOENT;
	local_irq_save(flags);
	cr0 = read_cr0();
	set_cr0(cr0 & ~X86_CR0_WP);
	memcpy((void *)place, code, size);
	set_cr0(cr0);
	local_irq_restore(flags);
	return 0;
}

/* Of those bits that the kernel pins, and writes again whenever it writes the register. */
static int __maybe_unused clear_cr4(unsigned long bit)
{
	unsigned long place = body_of("cr4_pinned_bits"), pinned;

	if (!place)
		return -ENOENT;
	pinned = *(unsigned long *)place & ~bit;
	overwrite(place, &pinned, sizeof(pinned));
	cr4_clear_bits(bit);
	return 0;
}

/* The kernel's own functions would not do that to memory that it protects. */
static int set_page(const void *place, unsigned long set, unsigned long clear)
{
	unsigned int level;
	pte_t *entry = lookup_address((unsigned long)place, &level);

	if (!entry)
		return -ENOENT;
	WRITE_ONCE(entry->pte, (entry->pte | set) & ~clear);
	asm volatile("invlpg (%0)" : : "r"(place) : "memory");
	return 0;
}

static int __maybe_unused make_writable(const void *place)
{
	return set_page(place, _PAGE_RW, 0);
}

static int __maybe_unused make_executable(const void *place)
{
	return set_page(place, 0, _PAGE_NX);
}

/* Let something happen to each new task, which is the function's first argument. */
static int __maybe_unused at_each_fork(kprobe_pre_handler_t handler)
{
	static struct kprobe forks = { .symbol_name = "wake_up_new_task" };

	forks.pre_handler = handler;
	return register_kprobe(&forks);
}

static const u8 __maybe_unused return_at_once[] = { 0xc3 };
static const u8 __maybe_unused return_zero[] = { 0x31, 0xc0, 0xc3 };
static const u8 __maybe_unused return_one[] = { 0xb8, 0x01, 0x00, 0x00, 0x00, 0xc3 };

#define instead_of(name, code) overwrite(body_of(name), code, sizeof(code))

static int break_kernel(void);

static int __init mutant_init(void)
{
	return break_kernel();
}
module_init(mutant_init);

MODULE_DESCRIPTION("A kernel that is broken on purpose");
MODULE_LICENSE("GPL");
