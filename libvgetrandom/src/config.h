/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Facts about the kernel and the CPU, found out once. */
#ifndef VGR_CONFIG_H
#define VGR_CONFIG_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "chacha20.h"

/* include/uapi/linux/random.h, struct vgetrandom_opaque_params */
struct vdso_params {
	uint32_t size_of_opaque_state;
	uint32_t mmap_prot;
	uint32_t mmap_flags;
	uint32_t reserved[13];
};

typedef ssize_t vdso_getrandom_fn(void *buf, size_t len, unsigned int flags, void *state,
				  size_t state_size);
typedef long vdso_clock_gettime_fn(clockid_t clock, struct timespec *now);

struct config {
	/* NULL: there is none, so system calls do everything. */
	vdso_getrandom_fn *vdso;
	struct vdso_params params;
	/* NULL: batches have no age limit. */
	vdso_clock_gettime_fn *clock;
	const struct chacha20 *chacha20;
};

extern struct config vgr_config __attribute__((visibility("hidden")));

/* Fills vgr_config on the first call. */
void vgr_config_need(void);

#endif
