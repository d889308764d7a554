/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <emmintrin.h>

#define LANES           1
#define chacha20_expand vgr_chacha20_sse2
#include "chacha20_x86.h"

#define ROTATE_LANES(x, n) ((vec)_mm_shuffle_epi32((__m128i)(x), (0xe4e4 >> 2 * (n)) & 0xff))

#define STORE_LANE(out, x, lane) _mm_storeu_si128((__m128i *)(out), (__m128i)(x))

static always_inline vec rotate_bits(vec x, int n)
{
	/* Two swaps of halves are faster than two shifts and an or. */
	if (n == 16)
		return (vec)_mm_shufflehi_epi16(_mm_shufflelo_epi16((__m128i)x, 0xb1), 0xb1);
	return x << n | x >> (32 - n);
}

static always_inline vec load_row(const uint32_t *row)
{
	return (vec)_mm_loadu_si128((const __m128i *)row);
}

static always_inline vec zip_low(vec a, vec b)
{
	return (vec)_mm_unpacklo_epi32((__m128i)a, (__m128i)b);
}

static always_inline vec zip_high(vec a, vec b)
{
	return (vec)_mm_unpackhi_epi32((__m128i)a, (__m128i)b);
}

static always_inline vec zip_low_pairs(vec a, vec b)
{
	return (vec)_mm_unpacklo_epi64((__m128i)a, (__m128i)b);
}

static always_inline vec zip_high_pairs(vec a, vec b)
{
	return (vec)_mm_unpackhi_epi64((__m128i)a, (__m128i)b);
}

static always_inline void wipe_registers(void)
{
	__asm__ volatile("pxor %%xmm0, %%xmm0\n\t"
			 "pxor %%xmm1, %%xmm1\n\t"
			 "pxor %%xmm2, %%xmm2\n\t"
			 "pxor %%xmm3, %%xmm3\n\t"
			 "pxor %%xmm4, %%xmm4\n\t"
			 "pxor %%xmm5, %%xmm5\n\t"
			 "pxor %%xmm6, %%xmm6\n\t"
			 "pxor %%xmm7, %%xmm7\n\t"
			 "pxor %%xmm8, %%xmm8\n\t"
			 "pxor %%xmm9, %%xmm9\n\t"
			 "pxor %%xmm10, %%xmm10\n\t"
			 "pxor %%xmm11, %%xmm11\n\t"
			 "pxor %%xmm12, %%xmm12\n\t"
			 "pxor %%xmm13, %%xmm13\n\t"
			 "pxor %%xmm14, %%xmm14\n\t"
			 "pxor %%xmm15, %%xmm15"
			 :
			 :
			 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
			   "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
	wipe_general_registers();
}

#include "chacha20_expand.h"
