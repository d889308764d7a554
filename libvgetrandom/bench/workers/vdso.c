/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The kernel's vDSO function itself: no checks, a state per thread, as cheap as possible. */
#include "worker.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

/* vgetrandom_opaque_params of the kernel's <linux/random.h>. */
struct state_params {
	uint32_t size;
	uint32_t mmap_prot;
	uint32_t mmap_flags;
	uint32_t reserved[13];
};

typedef ssize_t getrandom_fn(void *buf, size_t len, unsigned int flags, void *state, size_t size);

static getrandom_fn *kernel_getrandom;
static struct state_params params;
static uint8_t *states;
static size_t page;
static _Thread_local void *state;

static void prepare(int argc, char **argv)
{
	static const char *const names[] = { "__vdso_getrandom", "__kernel_getrandom" };
	void *vdso = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);

	(void)argc, (void)argv;
	for (size_t i = 0; vdso && !kernel_getrandom && i < sizeof(names) / sizeof(*names); i++)
		kernel_getrandom = (getrandom_fn *)dlsym(vdso, names[i]);
	if (!kernel_getrandom || kernel_getrandom(NULL, 0, 0, &params, ~(size_t)0))
		cannot("the kernel's vDSO has no getrandom: it came with Linux 6.11");
	/* A state must not cross pages, so each has a page of its own. */
	page = (size_t)sysconf(_SC_PAGESIZE);
	states = mmap(NULL, MAX_THREADS * page, (int)params.mmap_prot, (int)params.mmap_flags, -1,
		      0);
	if (states == MAP_FAILED)
		cannot("there is no memory for the vDSO's states");
}

static void thread_begin(unsigned int index)
{
	state = states + index * page;
}

static inline void draw(void *buf, size_t len)
{
	if (kernel_getrandom(buf, len, 0, state, params.size) != (ssize_t)len)
		fail("the vDSO gave too few bytes");
}
