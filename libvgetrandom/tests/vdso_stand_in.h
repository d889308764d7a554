/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * In place of the vDSO function where a tool takes the vDSO away, as valgrind does: the system
 * call. All else of the library is as ever, but for the memory, which is ordinary.
 */
#ifndef VGR_TESTS_VDSO_STAND_IN_H
#define VGR_TESTS_VDSO_STAND_IN_H

#include <string.h>
#include <sys/mman.h>

#include "config.h"
#include "sys.h"

enum {
	/* Of 6.18. */
	STAND_IN_STATE_SIZE = 144,
};

/* Touches the state as the kernel's function does, for tools to see whose it is. */
static inline ssize_t vdso_stand_in(void *buf, size_t len, unsigned int flags, void *state,
				    size_t size)
{
	memset(state, 1, size);
	return sys_getrandom(buf, len, flags);
}

static inline void vdso_stand_in_use(void)
{
	config.params = (struct vdso_params){
		.size_of_opaque_state = STAND_IN_STATE_SIZE,
		.mmap_prot = PROT_READ | PROT_WRITE,
		.mmap_flags = MAP_PRIVATE | MAP_ANONYMOUS,
	};
	config.vdso = vdso_stand_in;
}

#endif
