/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <immintrin.h>

#define LANES           4
#define chacha20_expand vgr_chacha20_avx512
#include "chacha20_x86.h"

#define ROTATE_LANES(x, n)                                                                         \
	((vec)_mm512_shuffle_epi32((__m512i)(x), (_MM_PERM_ENUM)((0xe4e4 >> 2 * (n)) & 0xff)))

/* One instruction. gcc 12 uses two, and one of them occupies the only port for shuffles. */
#define STORE_LANE(out, x, lane)                                                                   \
	__asm__("vextracti32x4 %2, %1, %0" : "=m"(*(struct row_bytes *)(out)) : "v"(x), "n"(lane))

static always_inline vec rotate_bits(vec x, int n)
{
	return x << n | x >> (32 - n);
}

static always_inline vec load_row(const uint32_t *row)
{
	return (vec)_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)row));
}

static always_inline vec zip_low(vec a, vec b)
{
	return (vec)_mm512_unpacklo_epi32((__m512i)a, (__m512i)b);
}

static always_inline vec zip_high(vec a, vec b)
{
	return (vec)_mm512_unpackhi_epi32((__m512i)a, (__m512i)b);
}

static always_inline vec zip_low_pairs(vec a, vec b)
{
	return (vec)_mm512_unpacklo_epi64((__m512i)a, (__m512i)b);
}

static always_inline vec zip_high_pairs(vec a, vec b)
{
	return (vec)_mm512_unpackhi_epi64((__m512i)a, (__m512i)b);
}

static always_inline void wipe_registers(void)
{
	/* vzeroall does not clear the registers from 16 on. */
	__asm__ volatile("vzeroall\n\t"
			 "vpxord %%zmm16, %%zmm16, %%zmm16\n\t"
			 "vpxord %%zmm17, %%zmm17, %%zmm17\n\t"
			 "vpxord %%zmm18, %%zmm18, %%zmm18\n\t"
			 "vpxord %%zmm19, %%zmm19, %%zmm19\n\t"
			 "vpxord %%zmm20, %%zmm20, %%zmm20\n\t"
			 "vpxord %%zmm21, %%zmm21, %%zmm21\n\t"
			 "vpxord %%zmm22, %%zmm22, %%zmm22\n\t"
			 "vpxord %%zmm23, %%zmm23, %%zmm23\n\t"
			 "vpxord %%zmm24, %%zmm24, %%zmm24\n\t"
			 "vpxord %%zmm25, %%zmm25, %%zmm25\n\t"
			 "vpxord %%zmm26, %%zmm26, %%zmm26\n\t"
			 "vpxord %%zmm27, %%zmm27, %%zmm27\n\t"
			 "vpxord %%zmm28, %%zmm28, %%zmm28\n\t"
			 "vpxord %%zmm29, %%zmm29, %%zmm29\n\t"
			 "vpxord %%zmm30, %%zmm30, %%zmm30\n\t"
			 "vpxord %%zmm31, %%zmm31, %%zmm31"
			 :
			 :
			 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
			   "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16",
			   "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24",
			   "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31");
	wipe_general_registers();
}

#include "chacha20_expand.h"
