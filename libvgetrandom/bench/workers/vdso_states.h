/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The vDSO function, and a state for each thread, for the workers that call it themselves. */
#ifndef BENCH_VDSO_STATES_H
#define BENCH_VDSO_STATES_H

#include <dlfcn.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "worker.h"

/* vgetrandom_opaque_params of the kernel's <linux/random.h>. */
struct state_params {
	uint32_t size;
	uint32_t mmap_prot;
	uint32_t mmap_flags;
	uint32_t reserved[13];
};

typedef ssize_t getrandom_fn(void *buf, size_t len, unsigned int flags, void *state, size_t size);

static uint8_t *vdso_states;
static size_t vdso_page;

/* Call it once, and first; stores the size of a state. */
static getrandom_fn *vdso_getrandom(size_t *size)
{
	static const char *const names[] = { "__vdso_getrandom", "__kernel_getrandom" };
	void *vdso = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
	getrandom_fn *found = NULL;
	struct state_params params;

	for (size_t i = 0; vdso && !found && i < sizeof(names) / sizeof(*names); i++)
		found = (getrandom_fn *)dlsym(vdso, names[i]);
	if (!found || found(NULL, 0, 0, &params, ~(size_t)0))
		cannot("the kernel's vDSO has no getrandom: it came with Linux 6.11");
	/* A state must not cross pages, so each has a page of its own. */
	vdso_page = (size_t)sysconf(_SC_PAGESIZE);
	vdso_states = mmap(NULL, MAX_THREADS * vdso_page, (int)params.mmap_prot,
			   (int)params.mmap_flags, -1, 0);
	if (vdso_states == MAP_FAILED)
		cannot("there is no memory for the vDSO's states");
	*size = params.size;
	return found;
}

static void *vdso_state(unsigned int index)
{
	return vdso_states + index * vdso_page;
}

#endif
