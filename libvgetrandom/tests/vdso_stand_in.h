/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Replaces the vDSO function by the system call where a tool takes the vDSO away, as valgrind does.
 * The rest of the library is unchanged, except that its memory is ordinary.
 */
#ifndef VGR_TESTS_VDSO_STAND_IN_H
#define VGR_TESTS_VDSO_STAND_IN_H

#include <string.h>
#include <sys/mman.h>

#include "config.h"
#include "sys.h"

enum {
	/* As in Linux 6.18. */
	STAND_IN_STATE_SIZE = 144,
};

/* Touches the state as the kernel's function does, so that tools see who uses it. */
static inline ssize_t vdso_stand_in(void *buf, size_t len, unsigned int flags, void *state,
				    size_t size)
{
	memset(state, 1, size);
	return sys_getrandom(buf, len, flags);
}

static inline void vdso_stand_in_use(void)
{
	vgr_config.params = (struct vdso_params){
		.size_of_opaque_state = STAND_IN_STATE_SIZE,
		.mmap_prot = PROT_READ | PROT_WRITE,
		.mmap_flags = MAP_PRIVATE | MAP_ANONYMOUS,
	};
	vgr_config.vdso = vdso_stand_in;
}

#endif
