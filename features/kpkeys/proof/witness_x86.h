/* SPDX-License-Identifier: GPL-2.0 */
/* witness.h on x86-64: a table of handlers with ours for page faults. */
#ifndef WITNESS_X86_H
#define WITNESS_X86_H

#include <asm/cpufeature.h>
#include <asm/desc.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>
#include <asm/trapnr.h>
#include <linux/bits.h>
#include <linux/objtool.h>
#include <linux/slab.h>

#include "fault.h"

/* Linux does not use this bit in entries of any level, and CPUs ignore it. */
#define HARMLESS BIT_ULL(52)

/* A copy of the kernel's table of handlers, with ours for page faults */
static gate_desc *witness_idt;
static unsigned long __used kernels_handler;

void witness_handler(void);

/* If it was the store, go on behind it with the error code in RAX. */
asm(".pushsection .text\n"
    ".type witness_handler, @function\n"
    "witness_handler:\n\t" ASM_ENDBR "pushq %rax\n\t"
    "leaq witness_store(%rip), %rax\n\t"
    "cmpq %rax, 16(%rsp)\n\t"
    "jne 1f\n\t"
    "leaq witness_stored(%rip), %rax\n\t"
    "movq %rax, 16(%rsp)\n\t"
    "addq $8, %rsp\n\t"
    "popq %rax\n\t"
    "iretq\n"
    "1:\t"
    "popq %rax\n\t" ANNOTATE_RETPOLINE_SAFE "jmp *kernels_handler(%rip)\n"
    ".size witness_handler, . - witness_handler\n"
    ".popsection\n");
STACK_FRAME_NON_STANDARD(witness_handler);

static noinline s64 store_with_witness(u64 *to, u64 value)
{
	s64 code = KPKEYS_NO_FAULT;

	asm volatile("witness_store:\n\t"
		     "movq %2, (%1)\n"
		     "witness_stored:"
		     : "+a"(code)
		     : "r"(to), "r"(value)
		     : "memory");
	return code;
}

static void witnessed_store(u64 *to, u64 value, struct kpkeys_try *end)
{
	struct desc_ptr kernels, ours = {
		.size = IDT_ENTRIES * sizeof(*witness_idt) - 1,
		.address = (unsigned long)witness_idt,
	};

	store_idt(&kernels);
	load_idt(&ours);
	end->code = store_with_witness(to, value);
	load_idt(&kernels);
	if (end->code != KPKEYS_NO_FAULT)
		end->astray = fault_address() - (unsigned long)to;
}

static int witness_create(void)
{
	unsigned long handler = (unsigned long)witness_handler;
	struct desc_ptr kernels;
	gate_desc *gate;

	if (cpu_feature_enabled(X86_FEATURE_FRED))
		return -ENODEV;
	store_idt(&kernels);
	witness_idt =
		kmemdup((void *)kernels.address, IDT_ENTRIES * sizeof(*witness_idt), GFP_KERNEL);
	if (!witness_idt)
		return -ENOMEM;
	gate = &witness_idt[X86_TRAP_PF];
	kernels_handler = gate_offset(gate);
	gate->offset_low = (u16)handler;
	gate->offset_middle = (u16)(handler >> 16);
	gate->offset_high = (u32)(handler >> 32);
	return 0;
}

static void witness_destroy(void)
{
	kfree(witness_idt);
}

#endif
