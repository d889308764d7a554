// SPDX-License-Identifier: GPL-2.0
/* Attacks on the stack, and on what functions leave behind. */
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/math.h>
#include <linux/sched.h>
#include <linux/string.h>
#ifdef CONFIG_X86_64
#include <asm/asm.h>
#include <asm/nospec-branch.h>
#endif
#include "probe.h"

static noinline void fill_stack(void)
{
	u8 memory[SIZE];

	memset(memory, PATTERN, sizeof(memory));
	barrier_data(memory);
}

static noinline bool stack_keeps(void)
{
	u8 memory[SIZE];
	u8 *seen = memory;

	/* Only a pointer: the compiler must not think that it is written. */
	OPTIMIZER_HIDE_VAR(seen);
	return pattern_left(seen, sizeof(memory));
}

/* Does a variable without a value hold what another function had there? */
static void stack_stale(struct tally *tally)
{
	for (int i = 0; i < TRIES; i++) {
		fill_stack();
		count(tally, stack_keeps());
	}
}

/* Does an attacker know what a process has on its stack before return addresses? */
static void canary_known(struct tally *tally)
{
#ifdef CONFIG_STACKPROTECTOR
	unsigned long canary = current->stack_canary;

	tally->seen = canary;
	count(tally, !canary || canary == current->real_parent->stack_canary);
#else
	count(tally, true);
#endif
}

/* What a system call leaves on the stack goes deeper than what those after it use. */
static noinline void fill_deep(int frames)
{
	u8 memory[SIZE];

	memset(memory, PATTERN, sizeof(memory));
	if (frames > 1)
		fill_deep(frames - 1);
	barrier_data(memory);
}

/* Does a system call find on the stack what the last one left there? */
static void stack_left(struct tally *tally)
{
	const int frames = 6;
	const u8 *deepest = (u8 *)__builtin_frame_address(0) - frames * SIZE;

	if (tally->again)
		count(tally, pattern_left(deepest, (frames - 1) * SIZE));
	else
		fill_deep(frames);
	tally->again = !tally->tries;
}

/* Does a system call begin where the last one did on this stack? */
static void stack_position(struct tally *tally)
{
	static unsigned long last;
	unsigned long now = (unsigned long)__builtin_frame_address(0);

	if (tally->again)
		count(tally, now == last);
	last = now;
	tally->again = tally->tries < TRIES;
}

#ifdef CONFIG_ARM64
/* Does a function return to an address that nobody signed? It is where it came from. */
static noinline void return_unsigned(void)
{
	unsigned long *frame = __builtin_frame_address(0);

	/* Since the register is lost, the address must be on the stack. */
	asm volatile("" : : : "x30");
	WRITE_ONCE(frame[1], ptrauth_strip_kernel_insn_pac(READ_ONCE(frame[1])));
}

static void return_address(struct tally *tally)
{
	return_unsigned();
	count(tally, true);
}

/* Does a function return to where another address on the stack says? */
static noinline __used void return_elsewhere(unsigned long address)
{
	unsigned long *frame = __builtin_frame_address(0);

	asm volatile("" : : : "x30");
	WRITE_ONCE(frame[1], address);
}

static void return_forged(struct tally *tally)
{
	unsigned long landed;

	asm volatile("adr x0, 1f\n\tbl return_elsewhere\n\t"
		     "mov %0, #0\n\tb 2f\n1:\tmov %0, #1\n2:"
		     : "=&r"(landed)
		     :
		     : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11",
		       "x12", "x13", "x14", "x15", "x16", "x17", "x30", "memory", "cc");
	count(tally, landed);
}
#endif

#ifdef CONFIG_X86_64
/*
 * What do functions of the kernel leave in registers? Neither what was there before,
 * nor zero, counts. int_sqrt() is compiled C, and calls nothing.
 */
static void call_used_regs(struct tally *tally)
{
	static unsigned long left[8];
	unsigned long argument = 123456789, function = (unsigned long)int_sqrt;

	asm volatile("movq %[pattern], %%rcx; movq %%rcx, %%rdx; movq %%rcx, %%rsi\n\t"
		     "movq %%rcx, %%r8; movq %%rcx, %%r9; movq %%rcx, %%r10\n\t"
		     "movq %%rcx, %%r11\n\t" ANNOTATE_RETPOLINE_SAFE "call *%[function]\n\t"
		     "movq %%rcx, 0(%[left]); movq %%rdx, 8(%[left])\n\t"
		     "movq %%rsi, 16(%[left]); movq %%rdi, 24(%[left])\n\t"
		     "movq %%r8, 32(%[left]); movq %%r9, 40(%[left])\n\t"
		     "movq %%r10, 48(%[left]); movq %%r11, 56(%[left])"
		     : ASM_CALL_CONSTRAINT, "+D"(argument)
		     : [pattern] "i"(PATTERN), [function] "b"(function), [left] "r"(left)
		     : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
	for (int i = 0; i < ARRAY_SIZE(left); i++)
		count(tally, left[i] && left[i] != PATTERN);
}
#endif

const struct attack stack_attacks[] = {
	{ "stack_stale", stack_stale },
	{ "canary_known", canary_known },
	{ "stack_left", stack_left },
	{ "stack_position", stack_position },
#ifdef CONFIG_ARM64
	{ "return_address", return_address },
	{ "return_forged", return_forged },
#endif
#ifdef CONFIG_X86_64
	{ "call_used_regs", call_used_regs },
#endif
	{},
};
