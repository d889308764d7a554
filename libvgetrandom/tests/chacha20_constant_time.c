// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * No branch and no address depends on the key. The test declares the key undefined to valgrind,
 * which complains about both. Run it with valgrind --error-exitcode=1; the cores that valgrind's
 * CPU lacks (AVX-512) come from the same template. With an argument, a branch does depend on a
 * secret, to see that valgrind complains.
 */
#include <valgrind/memcheck.h>

#include "chacha20_each.h"

static uint8_t out[5000];

static void expand(const struct chacha20 *core)
{
	static const uint32_t start[4];
	uint8_t key[CHACHA20_KEY_SIZE] = { 1 };

	VALGRIND_MAKE_MEM_UNDEFINED(key, sizeof(key));
	for (size_t len = 0; len <= sizeof(out); len += 1 + len / 8)
		core->expand(out, len, key, start);
	VALGRIND_MAKE_MEM_DEFINED(out, sizeof(out));
}

int main(int argc, char **argv)
{
	(void)argv;
	check(RUNNING_ON_VALGRIND, "run this test under valgrind");
	if (argc > 1) {
		int secret = argc;

		VALGRIND_MAKE_MEM_UNDEFINED(&secret, sizeof(secret));
		if (secret == 2)
			puts("leaked");
		return 0;
	}
	/* Not one that valgrind's CPU lacks. */
	expand(vgr_chacha20_widest());
	return each_core(expand);
}
