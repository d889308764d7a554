// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Description: the library finds what this machine has: the widest vector unit that the kernel
 * lists, and the clock and the random function of the vDSO that libc's linker finds.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>
#include <vgetrandom.h>

#include "check.h"
#include "config.h"
#include "pool.h"

#if defined(__x86_64__)
#define VERSION   "LINUX_2.6"
#define CLOCK     "__vdso_clock_gettime"
#define GETRANDOM "__vdso_getrandom"
#else
#define VERSION   "LINUX_2.6.39"
#define CLOCK     "__kernel_clock_gettime"
#define GETRANDOM "__kernel_getrandom"
#endif

enum {
	NSEC_PER_SEC = 1000000000,
};

/* Whether the kernel says that this CPU has it, and saves its registers. */
static bool cpu_has(const char *feature)
{
	static char text[1 << 16];
	FILE *file = fopen("/proc/cpuinfo", "re");

	check(file && fread(text, 1, sizeof(text) - 1, file), "/proc/cpuinfo");
	fclose(file);
	return strstr(text, feature);
}

/* The widest first. */
static const struct {
	const char *unit, *feature;
} units[] = {
	{ "neon", " asimd " }, { "avx512", " avx512f " }, { "avx2", " avx2 " }, { "sse2", " sse2 " }
};

static void check_units(void)
{
	const struct chacha20 *core = vgr_chacha20_all;
	const char *widest = NULL;

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		bool has = cpu_has(units[i].feature);

		if (has && !widest)
			widest = units[i].unit;
		if (core->name && !strcmp(core->name, units[i].unit))
			check(vgr_chacha20_usable(core++) == has, "%s", units[i].unit);
	}
	check(!core->name && !vgr_chacha20_usable(core), "another unit, or another order");
	check(widest && !strcmp(vgetrandom_simd(), widest), "%s", vgetrandom_simd());
}

static uint64_t nanoseconds(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * NSEC_PER_SEC + (uint64_t)time->tv_nsec;
}

static void check_clock(const void *clock)
{
	struct timespec before, here, after;

	check((const void *)vgr_config.clock == clock, "the clock is not the vDSO's");
	clock_gettime(CLOCK_MONOTONIC_COARSE, &before);
	check(!vgr_config.clock(CLOCK_MONOTONIC_COARSE, &here), "the clock fails");
	clock_gettime(CLOCK_MONOTONIC_COARSE, &after);
	check(nanoseconds(&before) <= nanoseconds(&here) &&
		      nanoseconds(&here) <= nanoseconds(&after),
	      "the clock is wrong");
}

/* With others, the library would make system calls for ever. */
static void check_params(void)
{
	struct vdso_params params = { 0 };

	check(!vgr_config.vdso(NULL, 0, 0, &params, ~0UL), "the kernel does not tell");
	check(!memcmp(&vgr_config.params, &params, sizeof(params)), "other parameters");
	check(params.size_of_opaque_state && params.mmap_flags, "no parameters");
}

/* Whatever the size of a state, it shares a page with its buffer. */
static void check_room(void)
{
	struct config found = vgr_config;

	for (size_t size = 1; size <= SLOT_STATE_MAX; size++) {
		vgr_config.params.size_of_opaque_state = (uint32_t)size;
		check(size + sizeof(struct slot_buffer) + vgr_slot_buffer_size() <= SLOT_PAGE_SIZE,
		      "no room beside %zu bytes", size);
	}
	vgr_config = found;
}

int main(void)
{
	void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);

	vgr_config_need();
	check_units();
	check_room();
	if (!vdso)
		cannot_run("this libc does not list the vDSO");
	check((const void *)vgr_config.vdso == dlvsym(vdso, GETRANDOM, VERSION), "not the vDSO's");
	if (!vgr_config.vdso)
		cannot_run("the kernel has no vDSO getrandom");
	check_params();
	check_clock(dlvsym(vdso, CLOCK, VERSION));
	check(vgr_pool_can_hold(SLOT_STATE_MAX) && !vgr_pool_can_hold(SLOT_STATE_MAX + 1),
	      "states of another size");
	return 0;
}
