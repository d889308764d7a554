/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <arm_neon.h>

#define LANES           1
#define chacha20_expand vgr_chacha20_neon
#include "chacha20_vec.h"

#define ROTATE_LANES(x, n) vextq_u32(x, x, n)

#define STORE_LANE(out, x, lane) vst1q_u8(out, (uint8x16_t)(x))

static always_inline vec rotate_bits(vec x, int n)
{
	const uint8x16_t by_8 = { 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14 };

	/* One shuffle is faster than two shifts. */
	if (n == 16)
		return (vec)vrev32q_u16((uint16x8_t)x);
	if (n == 8)
		return (vec)vqtbl1q_u8((uint8x16_t)x, by_8);
	if (n == 12)
		return vsriq_n_u32(vshlq_n_u32(x, 12), x, 20);
	return vsriq_n_u32(vshlq_n_u32(x, 7), x, 25);
}

static always_inline vec load_row(const uint32_t *row)
{
	return vld1q_u32(row);
}

static always_inline vec zip_low(vec a, vec b)
{
	return vzip1q_u32(a, b);
}

static always_inline vec zip_high(vec a, vec b)
{
	return vzip2q_u32(a, b);
}

static always_inline vec zip_low_pairs(vec a, vec b)
{
	return (vec)vzip1q_u64((uint64x2_t)a, (uint64x2_t)b);
}

static always_inline vec zip_high_pairs(vec a, vec b)
{
	return (vec)vzip2q_u64((uint64x2_t)a, (uint64x2_t)b);
}

static always_inline uintptr_t stack_pointer(void *frame)
{
	uintptr_t sp;

	__asm__ volatile("mov %0, sp" : "=r"(sp) : "r"(frame));
	return sp;
}

static always_inline void wipe_registers(void)
{
	/* v8 to v15 have the caller's values again; loading low halves cleared the high ones. */
	__asm__ volatile("movi v0.2d, #0\n\t"
			 "movi v1.2d, #0\n\t"
			 "movi v2.2d, #0\n\t"
			 "movi v3.2d, #0\n\t"
			 "movi v4.2d, #0\n\t"
			 "movi v5.2d, #0\n\t"
			 "movi v6.2d, #0\n\t"
			 "movi v7.2d, #0\n\t"
			 "movi v16.2d, #0\n\t"
			 "movi v17.2d, #0\n\t"
			 "movi v18.2d, #0\n\t"
			 "movi v19.2d, #0\n\t"
			 "movi v20.2d, #0\n\t"
			 "movi v21.2d, #0\n\t"
			 "movi v22.2d, #0\n\t"
			 "movi v23.2d, #0\n\t"
			 "movi v24.2d, #0\n\t"
			 "movi v25.2d, #0\n\t"
			 "movi v26.2d, #0\n\t"
			 "movi v27.2d, #0\n\t"
			 "movi v28.2d, #0\n\t"
			 "movi v29.2d, #0\n\t"
			 "movi v30.2d, #0\n\t"
			 "movi v31.2d, #0"
			 :
			 :
			 : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18",
			   "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28",
			   "v29", "v30", "v31");
	__asm__ volatile("mov x0, #0\n\t"
			 "mov x1, #0\n\t"
			 "mov x2, #0\n\t"
			 "mov x3, #0\n\t"
			 "mov x4, #0\n\t"
			 "mov x5, #0\n\t"
			 "mov x6, #0\n\t"
			 "mov x7, #0\n\t"
			 "mov x8, #0\n\t"
			 "mov x9, #0\n\t"
			 "mov x10, #0\n\t"
			 "mov x11, #0\n\t"
			 "mov x12, #0\n\t"
			 "mov x13, #0\n\t"
			 "mov x14, #0\n\t"
			 "mov x15, #0\n\t"
			 "mov x16, #0\n\t"
			 "mov x17, #0"
			 :
			 :
			 : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11",
			   "x12", "x13", "x14", "x15", "x16", "x17");
}

#include "chacha20_expand.h"
