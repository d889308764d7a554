/* SPDX-License-Identifier: GPL-2.0 */
/* What an arm64 instruction does to the stacks of a task. */
#ifndef CODE_H
#define CODE_H

#include <stdbool.h>
#include <stdint.h>

enum { SP = 31, SCS_SP = 18 };

static inline bool is_return(uint32_t word)
{
	return word == 0xd65f03c0;
}

static inline bool is_call(uint32_t word)
{
	return (word & 0xfffffc1f) == 0xd63f0000; /* blr */
}

/* Masks pseudo-NMIs, SErrors and debug exceptions: msr daifset, #0xf. */
static inline bool masks_all(uint32_t word)
{
	return word == 0xd5034fdf;
}

static inline bool restores_mask(uint32_t word)
{
	return (word & 0xffffffe0) == 0xd51b4220; /* msr daif, x */
}

static inline bool makes_current(uint32_t word)
{
	return (word & 0xffffffe0) == 0xd5184100; /* msr sp_el0, x */
}

/* Another stack: add or mov from another register, no frame of a function. */
static inline bool moves_stack(uint32_t word)
{
	return (word & 0xff80001f) == (0x91000000 | SP) && (word >> 5 & 31) != SP;
}

static inline bool is_load(uint32_t word)
{
	return (word & 0xffc00000) == 0xf9400000 || /* ldr x, [x, #] */
	       (word & 0xffe00c00) == 0xf8600800;   /* ldr x, [x, x] */
}

/* All that compilers and entry.S set one register by, loads aside. */
static inline bool is_arithmetic(uint32_t word)
{
	return (word & 0x1c000000) == 0x10000000 || /* adr, add, mov, with immediates */
	       (word & 0x0e000000) == 0x0a000000 || /* mov, add, with registers */
	       (word & 0xfff00000) == 0xd5300000;   /* mrs */
}

static inline bool writes_scs(uint32_t word)
{
	return (word & 31) == SCS_SP && (is_load(word) || is_arithmetic(word));
}

#endif
