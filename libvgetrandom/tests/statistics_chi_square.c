// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Description: on each path, bytes, pairs of bytes and set bits are as frequent as chance predicts,
 * and so are the bits in which words differ, up to two blocks apart. Finds serious errors;
 * statistics_battery finds smaller ones.
 */
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "statistics_paths.h"

enum {
	SIZE = 8 << 20,
	/* In 64-bit words: two blocks of ChaCha20. */
	DISTANCE_MAX = 16,
};

/*
 * In standard deviations. The chance to lie beyond, on either side, is 1.3e-9 for a figure and 1e-7
 * for the 60 figures of a run; this is also true of chi-square, which Wilson and Hilferty's method
 * turns into a normal distribution.
 */
static const double limit = 6;

static void check_deviation(const char *path, const char *what, int at, double deviation)
{
	check(fabs(deviation) < limit, "%s: %s %d: %.1f standard deviations", path, what, at,
	      deviation);
}

static double chi_square_deviation(const size_t *counts, int kinds, double expected)
{
	double sum = 0, freedom = kinds - 1, spread = 2 / (9 * freedom);

	for (int i = 0; i < kinds; i++)
		sum += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
	return (cbrt(sum / freedom) - (1 - spread)) / sqrt(spread);
}

static void check_bytes(const char *path, const uint8_t *bytes)
{
	static size_t counts[256], pairs[65536];

	memset(counts, 0, sizeof(counts));
	memset(pairs, 0, sizeof(pairs));
	for (size_t i = 0; i < SIZE; i++)
		counts[bytes[i]]++;
	for (size_t i = 0; i < SIZE; i += 2)
		pairs[bytes[i] << 8 | bytes[i + 1]]++;
	check_deviation(path, "bytes, of", 256, chi_square_deviation(counts, 256, SIZE / 256.0));
	check_deviation(path, "pairs, of", 65536,
			chi_square_deviation(pairs, 65536, SIZE / 2 / 65536.0));
}

/* Half of the bits of two words differ, whatever their distance. */
static void check_distances(const char *path, const uint64_t *words)
{
	for (int distance = 0; distance <= DISTANCE_MAX; distance++) {
		size_t count = SIZE / sizeof(*words) - (size_t)distance, set = 0;
		double bits = (double)count * 64;

		for (size_t i = 0; i < count; i++)
			set += (size_t)__builtin_popcountll(
				distance ? words[i] ^ words[i + (size_t)distance] : words[i]);
		check_deviation(path, "bits, distance", distance,
				((double)set - bits / 2) / sqrt(bits / 4));
	}
}

int main(void)
{
	uint64_t *words = malloc(SIZE);

	check(words, "no memory");
	for (int i = 0; i < PATHS; i++) {
		paths[i].draw((uint8_t *)words, SIZE);
		check_bytes(paths[i].name, (const uint8_t *)words);
		check_distances(paths[i].name, words);
		printf("%s: passed\n", paths[i].name);
	}
	free(words);
	return 0;
}
