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

#include "chacha20_expand.h"
