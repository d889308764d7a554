/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The kernel's vDSO function itself: no checks, a state per thread, as cheap as possible. */
#include "vdso_states.h"
#include "worker.h"

static getrandom_fn *kernel_getrandom;
static size_t state_size;
static _Thread_local void *state;

static void prepare(int argc, char **argv)
{
	(void)argc, (void)argv;
	kernel_getrandom = vdso_getrandom(&state_size);
}

static void thread_begin(unsigned int index)
{
	state = vdso_state(index);
}

static inline void draw(void *buf, size_t len)
{
	if (kernel_getrandom(buf, len, 0, state, state_size) != (ssize_t)len)
		fail("the vDSO gave too few bytes");
}
