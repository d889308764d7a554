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

#include "chacha20_expand.h"
