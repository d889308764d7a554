/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "chacha20.h"

#include "chacha20_cores.h"

const struct chacha20 vgr_chacha20_all[] = {
#if defined(__x86_64__)
	{ "avx512", vgr_chacha20_avx512 },
	{ "avx2", vgr_chacha20_avx2 },
	{ "sse2", vgr_chacha20_sse2 },
#elif defined(__aarch64__)
	{ "neon", vgr_chacha20_neon },
#endif
	{ 0 },
};

_Bool vgr_chacha20_usable(const struct chacha20 *chacha20)
{
#if defined(__x86_64__)
	/* Also checks which registers the operating system saves. */
	__builtin_cpu_init();
	if (chacha20->expand == vgr_chacha20_avx512)
		return __builtin_cpu_supports("avx512f");
	if (chacha20->expand == vgr_chacha20_avx2)
		return __builtin_cpu_supports("avx2");
#endif
	/* The others are part of the architecture's baseline. */
	return chacha20->expand != 0;
}

const struct chacha20 *vgr_chacha20_widest(void)
{
	const struct chacha20 *chacha20 = vgr_chacha20_all;

	while (!vgr_chacha20_usable(chacha20))
		chacha20++;
	return chacha20;
}
