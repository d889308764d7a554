/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Vectors of 32-bit words. LANES is the number of rows of four words in a vector; a file that
 * includes this defines it. For chacha20_expand.h, that file also defines the operations that GNU C
 * lacks: rotate_bits(), ROTATE_LANES(), load_row(), zip_*(), STORE_LANE(), wipe_registers(); and
 * stack_pointer(), which takes an address in the function's frame to make sure that the frame
 * exists.
 */
#ifndef VGR_CHACHA20_VEC_H
#define VGR_CHACHA20_VEC_H

#include <stdint.h>

#include "chacha20.h"
#include "chacha20_cores.h"
#include "compiler.h"

enum {
	LANE_WORDS = 4,
	LANE_SIZE = LANE_WORDS * 4,
	VEC_SIZE = LANES * LANE_SIZE,
};

typedef uint32_t vec __attribute__((vector_size(VEC_SIZE)));
typedef uint64_t vec64 __attribute__((vector_size(VEC_SIZE)));
typedef vec vec_unaligned __attribute__((aligned(1), may_alias));
typedef vec64 vec64_unaligned __attribute__((aligned(1), may_alias));

struct row_bytes {
	uint8_t bytes[LANE_SIZE];
};

#endif
