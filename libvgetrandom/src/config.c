// SPDX-License-Identifier: MIT OR Apache-2.0
#include <stdatomic.h>
#include <stdbool.h>

#include "compiler.h"
#include "config.h"
#include "pool.h"
#include "vdso.h"

#if defined(__x86_64__)
#define VDSO_VERSION       "LINUX_2.6"
#define VDSO_GETRANDOM     "__vdso_getrandom"
#define VDSO_CLOCK_GETTIME "__vdso_clock_gettime"
#elif defined(__aarch64__)
#define VDSO_VERSION       "LINUX_2.6.39"
#define VDSO_GETRANDOM     "__kernel_getrandom"
#define VDSO_CLOCK_GETTIME "__kernel_clock_gettime"
#endif

struct config vgr_config;

static void find_vdso(struct config *found)
{
	const void *image = vgr_vdso_image();
	size_t size = image ? vgr_vdso_size(image) : 0;
	vdso_getrandom_fn *getrandom;

	if (!size)
		return;
	getrandom =
		(vdso_getrandom_fn *)vgr_vdso_function(image, size, VDSO_GETRANDOM, VDSO_VERSION);
	if (!getrandom || getrandom(NULL, 0, 0, &found->params, ~0UL) != 0 ||
	    !vgr_pool_can_hold(found->params.size_of_opaque_state))
		return;
	found->clock = (vdso_clock_gettime_fn *)vgr_vdso_function(image, size, VDSO_CLOCK_GETTIME,
								  VDSO_VERSION);
	found->vdso = getrandom;
}

/*
 * Without a lock, because its holder could be interrupted for good by a signal handler that jumps,
 * or by a fork. Threads that run this at the same time find and write the same.
 */
static noinline void find(atomic_bool *known)
{
	struct config found = { .chacha20 = vgr_chacha20_widest() };

	find_vdso(&found);
	vgr_config = found;
	atomic_store_explicit(known, true, memory_order_release);
}

void vgr_config_need(void)
{
	static atomic_bool known;

	if (unlikely(!atomic_load_explicit(&known, memory_order_acquire)))
		find(&known);
}
