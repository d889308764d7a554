/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VGR_TESTS_CHACHA20_RESIDUE_H
#define VGR_TESTS_CHACHA20_RESIDUE_H

#include <stdint.h>

#include "chacha20.h"

enum {
	GENERAL_REGISTERS = 32,
	VECTOR_AREA = 8192,
};

/* A call and what it leaves. chacha20_residue_*.S know this layout. */
struct observed_call {
	chacha20_fn *expand;
	uint8_t *out;
	size_t len;
	const uint8_t *key;
	const uint32_t *start;
	uint8_t *stack_top;
	uint64_t general[GENERAL_REGISTERS];
	/* x86-64: an XSAVE area; arm64: v0 to v31. All zero on input. */
	uint8_t vector[VECTOR_AREA] __attribute__((aligned(64)));
};

/* Makes the call with its stack at stack_top, and saves all registers right after it. */
void observe(struct observed_call *call);

#endif
