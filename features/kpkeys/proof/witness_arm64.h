/* SPDX-License-Identifier: GPL-2.0 */
/* witness.h on arm64: exception vectors with ours for synchronous exceptions. */
#ifndef WITNESS_ARM64_H
#define WITNESS_ARM64_H

#include <asm/daifflags.h>
#include <asm/sysreg.h>
#include <linux/bits.h>

#include "fault.h"

/* Linux uses this bit in entries for pages of devices only, and CPUs ignore it. */
#define HARMLESS BIT_ULL(57)

void witness_vectors(void);

/*
 * Nothing but our store can be what brings us here: all else is masked. Go on behind it
 * with the syndrome in X16 and the address in X17.
 */
asm(".pushsection .text\n"
    ".balign 2048\n"
    ".type witness_vectors, %function\n"
    "witness_vectors:\n\t"
    ".rept 4\n\t"
    "b .\n\t"
    ".balign 128\n\t"
    ".endr\n\t"
    "adr x16, witness_stored\n\t"
    "msr elr_el1, x16\n\t"
    "mrs x16, esr_el1\n\t"
    "mrs x17, far_el1\n\t"
    "eret\n\t"
    ".balign 128\n\t"
    ".rept 11\n\t"
    "b .\n\t"
    ".balign 128\n\t"
    ".endr\n"
    ".size witness_vectors, . - witness_vectors\n"
    ".popsection\n");

static noinline void witnessed_store(u64 *to, u64 value, struct kpkeys_try *end)
{
	register u64 esr asm("x16") = 0;
	register u64 far asm("x17");
	u64 kernels = read_sysreg(vbar_el1);
	unsigned long flags = local_daif_save();

	asm volatile("msr vbar_el1, %4\n\t"
		     "isb\n\t"
		     "str %3, [%2]\n"
		     "witness_stored:\n\t"
		     "msr vbar_el1, %5\n\t"
		     "isb"
		     : "+r"(esr), "=&r"(far)
		     : "r"(to), "r"(value), "r"(witness_vectors), "r"(kernels)
		     : "memory");
	local_daif_restore(flags);
	if (!esr)
		return;
	end->code = fault_code(esr);
	end->astray = far - (unsigned long)to;
}

static int witness_create(void)
{
	return 0;
}

static void witness_destroy(void)
{
}

#endif
