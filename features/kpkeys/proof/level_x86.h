/* SPDX-License-Identifier: GPL-2.0 */
/* What kpkeys_level.c needs to know of x86-64; it includes this. */
#include <asm/apic.h>
#include <asm/asm.h>
#include <asm/msr.h>
#include <asm/processor-flags.h>
#include <asm/trapnr.h>
#include <linux/kdebug.h>
#include <linux/nmi.h>

/* Kernels before our series do not name it. */
#ifndef MSR_IA32_PKRS
#define MSR_IA32_PKRS 0x6e1
#endif

static void set_arguments(struct pt_regs *regs, const u64 *arguments)
{
	regs->di = arguments[0];
	regs->si = arguments[1];
	regs->dx = arguments[2];
	regs->r10 = arguments[3];
	regs->r8 = arguments[4];
}

/* The address at which on_die() continues. */
static unsigned long resume;

static int on_die(struct notifier_block *block, unsigned long event, void *data)
{
	struct die_args *args = data;

	if (current != READ_ONCE(attack.writer) || !nobody_tried())
		return NOTIFY_DONE;
	if (event == DIE_TRAP && args->trapnr == X86_TRAP_DE)
		args->regs->ip = resume;
	else if (event == DIE_DEBUG)
		args->regs->flags &= ~X86_EFLAGS_TF;
	else if (event != DIE_INT3)
		return NOTIFY_DONE;
	try_to_write();
	return NOTIFY_STOP;
}

static struct notifier_block die_notifier = { .notifier_call = on_die };

/* A division by zero, whose entry code most exceptions share. */
static int by_exception(void)
{
	asm volatile("leaq 1f(%%rip), %%rax\n\t"
		     "movq %%rax, %0\n\t"
		     "xorl %%ecx, %%ecx\n\t"
		     "divl %%ecx\n"
		     "1:"
		     : "=m"(resume)
		     :
		     : "rax", "rcx", "rdx", "cc", "memory");
	return spin_until_tried();
}

/* A breakpoint can hit anywhere, so it has the entry code of NMIs. */
static int by_breakpoint(void)
{
	asm volatile("int3" : : : "memory");
	return spin_until_tried();
}

static int by_single_step(void)
{
	asm volatile("pushfq\n\t"
		     "orq %0, (%%rsp)\n\t"
		     "popfq\n\t"
		     "nop"
		     :
		     : "i"(X86_EFLAGS_TF)
		     : "cc", "memory");
	return spin_until_tried();
}

static int on_nmi(unsigned int type, struct pt_regs *regs)
{
	if (current != READ_ONCE(attack.writer) || !nobody_tried())
		return NMI_DONE;
	try_to_write();
	return NMI_HANDLED;
}

static int by_nmi(void)
{
	__apic_send_IPI_mask(cpumask_of(CPU_HERE), NMI_VECTOR);
	return spin_until_tried();
}

/*
 * Let all keys be written. Not by wrmsrl_safe(), which our series has refuse it. A CPU
 * that lacks the register faults; then tables have no key either.
 */
static void open_register(void)
{
	asm volatile("1: wrmsr\n2:\n" _ASM_EXTABLE(1b, 2b)
		     :
		     : "c"(MSR_IA32_PKRS), "a"(0), "d"(0)
		     : "memory");
}

static int expect_exceptions(void)
{
	int error = register_nmi_handler(NMI_LOCAL, on_nmi, 0, "kpkeys_level");

	if (!error)
		register_die_notifier(&die_notifier);
	return error;
}

static void expect_no_exceptions(void)
{
	unregister_die_notifier(&die_notifier);
	unregister_nmi_handler(NMI_LOCAL, "kpkeys_level");
}
