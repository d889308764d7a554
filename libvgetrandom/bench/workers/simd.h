/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Finds the vector instructions for a worker in the library's own table. */
#ifndef BENCH_SIMD_H
#define BENCH_SIMD_H

#include <string.h>

#include "chacha20.h"
#include "fail.h"

static inline const struct chacha20 *chacha20_named(const char *name)
{
	for (const struct chacha20 *core = vgr_chacha20_all; core->name; core++) {
		if (!strcmp(core->name, name) && vgr_chacha20_usable(core))
			return core;
	}
	cannot("this CPU or build has no such vector instructions");
}

#endif
