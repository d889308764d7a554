/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <immintrin.h>

#define LANES           2
#define chacha20_expand vgr_chacha20_avx2
#include "chacha20_x86.h"

#define ROTATE_LANES(x, n) ((vec)_mm256_shuffle_epi32((__m256i)(x), (0xe4e4 >> 2 * (n)) & 0xff))

#define STORE_LANE(out, x, lane)                                                                   \
	_mm_storeu_si128((__m128i *)(out), _mm256_extracti128_si256((__m256i)(x), lane))

static always_inline vec rotate_bits(vec x, int n)
{
	/* Byte indices, the same in each lane. */
	static const vec by_16 = { 0x01000302, 0x05040706, 0x09080b0a, 0x0d0c0f0e,
				   0x01000302, 0x05040706, 0x09080b0a, 0x0d0c0f0e };
	static const vec by_8 = { 0x02010003, 0x06050407, 0x0a09080b, 0x0e0d0c0f,
				  0x02010003, 0x06050407, 0x0a09080b, 0x0e0d0c0f };

	/*
	 * One byte shuffle is faster than two shifts and an or, and than the two shuffles that
	 * clang makes from the intrinsic.
	 */
	if (n == 16) {
		__asm__("vpshufb %1, %0, %0" : "+x"(x) : "m"(by_16));
		return x;
	}
	if (n == 8) {
		__asm__("vpshufb %1, %0, %0" : "+x"(x) : "m"(by_8));
		return x;
	}
	return x << n | x >> (32 - n);
}

static always_inline vec load_row(const uint32_t *row)
{
	return (vec)_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)row));
}

static always_inline vec zip_low(vec a, vec b)
{
	return (vec)_mm256_unpacklo_epi32((__m256i)a, (__m256i)b);
}

static always_inline vec zip_high(vec a, vec b)
{
	return (vec)_mm256_unpackhi_epi32((__m256i)a, (__m256i)b);
}

static always_inline vec zip_low_pairs(vec a, vec b)
{
	return (vec)_mm256_unpacklo_epi64((__m256i)a, (__m256i)b);
}

static always_inline vec zip_high_pairs(vec a, vec b)
{
	return (vec)_mm256_unpackhi_epi64((__m256i)a, (__m256i)b);
}

#include "chacha20_expand.h"
