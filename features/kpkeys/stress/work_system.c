// SPDX-License-Identifier: Apache-2.0
/* Description: operations on the whole system: modules, memory and CPUs that come and go. */
#define _GNU_SOURCE
#include "work.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	/* 16 MB: swapping more than that takes minutes here. */
	EXCESS = 4096,
	/* Offlining takes a while on a busy host, or never finishes. */
	OFFLINE_SECONDS = 20,
	/* Taking memory that others swap in again may take as long as they do that. */
	PRESSURE_SECONDS = 60,
};

bool load(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool done = fd >= 0 && !syscall(SYS_finit_module, fd, "", 0);

	if (fd < 0)
		wrong(path);
	close(fd);
	return done;
}

/* Loading it maps and unmaps kernel memory in all ways. */
static bool do_module(void)
{
	if (!load("/churn.ko"))
		return false;
	if (syscall(SYS_delete_module, "churn", 0))
		wrong("module: it stays");
	return true;
}

static bool do_cpu(void)
{
	static const char cpu[] = "/sys/devices/system/cpu/cpu1/online";
	bool done = put(cpu, "0");

	usleep(100000);
	/* Memory may be short for a while. */
	for (int tries = 0; done && !put(cpu, "1"); tries++) {
		if (tries == 100)
			wrong("cpu: it does not come back");
		usleep(100000);
	}
	usleep(100000);
	return done;
}

/*
 * On arm64 the entries of added memory leave the direct map one by one, each with a flush
 * of the TLB, which takes QEMU minutes.
 */
#ifdef __x86_64__
/*
 * Offlining memory may never finish: Linux isolates all pages of the block at once, and
 * may wait until some are put back while it looks for a large page to move a large one
 * to. Meanwhile others wait, too. So split large pages before. Only a signal ends the
 * waiting if others have come in between.
 */
static bool take_offline(const char *state)
{
	pid_t child;
	int status;

	if (!put("/sys/kernel/debug/split_huge_pages", "1"))
		wrong("split_huge_pages");
	child = fork();
	if (child < 0)
		return false;
	if (child == 0) {
		alarm(OFFLINE_SECONDS);
		_exit(!put(state, "offline"));
	}
	return waitpid(child, &status, 0) == child && !status;
}

/* Bring memory that a module adds into use and out of use again. */
static bool do_memory(void)
{
	static const char state[] = "/sys/devices/system/memory/memory2/state";
	bool done = load("/plug.ko") && put(state, "online_movable");

	sleep(1);
	while (done && !take_offline(state)) {
		answered();
		usleep(100000);
	}
	if (syscall(SYS_delete_module, "plug", 0) && errno != ENOENT)
		wrong("memory: it stays");
	return done;
}
#endif

/* Run all shrinkers, and compact memory. */
static bool do_shrink(void)
{
	bool done = put("/proc/sys/vm/drop_caches", "3");

	done &= put("/proc/sys/vm/compact_memory", "1");
	usleep(500000);
	return done;
}

/* Take more than is free, so that the whole system must reclaim. */
static bool do_pressure(void)
{
	size_t pages = (size_t)sysconf(_SC_AVPHYS_PAGES) + EXCESS;
	pid_t child = fork();

	if (child < 0)
		return false;
	if (child == 0) {
		char *area = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
				  MAP_ANONYMOUS | MAP_PRIVATE | MAP_NORESERVE, -1, 0);

		/* The kernel is to kill this process first. */
		put("/proc/self/oom_score_adj", "1000");
		alarm(PRESSURE_SECONDS);
		for (size_t i = 0; area != MAP_FAILED && i < pages; i++) {
			area[i * PAGE] = (char)i;
			answered();
		}
		_exit(0);
	}
	ended_well(child);
	/* The others make progress only without it. */
	sleep(5);
	return true;
}

const struct kind system_kinds[] = {
	{ "module", do_module, false }, { "cpu", do_cpu, false },
#ifdef __x86_64__
	{ "memory", do_memory, false },
#endif
	{ "shrink", do_shrink, false }, { "pressure", do_pressure, false },
};
const size_t system_kinds_number = sizeof(system_kinds) / sizeof(*system_kinds);
