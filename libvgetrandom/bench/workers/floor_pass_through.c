/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The vDSO function behind a function of a shared library: see floor.h. It is built twice, with
 * DRAW as each of the functions.
 */
#include "floor.h"
#include "vdso_states.h"
#include "worker.h"

static void prepare(int argc, char **argv)
{
	struct floor_config config;

	(void)argc, (void)argv;
	config.vdso = vdso_getrandom(&config.state_size);
	floor_prepare(&config);
}

static void thread_begin(unsigned int index)
{
	floor_begin(index, vdso_state(index));
}

static inline void draw(void *buf, size_t len)
{
	if (DRAW(buf, len, 0) != (ssize_t)len)
		fail("the vDSO gave too few bytes");
}
