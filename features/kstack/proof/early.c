// SPDX-License-Identifier: GPL-2.0
/*
 * Description: collects stack positions of programs that run before init does.
 *
 * The kernel itself starts this program, as its uevent helper, for each device that it
 * finds (CONFIG_UEVENT_HELPER_PATH="/early"). No other program can run after the kernel
 * unpacks the initramfs, while device_initcall()s run, and before late_initcall().
 *
 * A helper counts only if LATER is still missing when the helper has drawn. LATER is a
 * file in sysfs that a device_initcall() creates, so no late_initcall() had begun.
 *
 * Usage: early CALLS, which prints what the helpers left, at most CALLS positions.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "probe.h"
#include "record.h"
#include "side_by_side.h"

enum { HELPERS = 8, HELPER_CALLS = 64 };

#define MODULE  "/kstack_probe.ko"
#define TICKETS "/early.tickets"
#define DRAWN   "/early.drawn"
#define LATER   "/sys/devices/system/cpu/cpu0/topology"

/* Init mounts /proc first of all, where all processes see it. */
#define INIT_HAS_BEGUN "/proc/self"

static bool exists(const char *path)
{
	return !access(path, F_OK);
}

/* A single append does not mix with others. Return where it ended. */
static off_t append(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	off_t end;

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		exit(1);
	end = lseek(fd, 0, SEEK_CUR);
	close(fd);
	return end;
}

/* In a mount namespace of our own, so that init finds nothing mounted. */
static void mount_own(const char *type, const char *where)
{
	mkdir(where, 0755);
	if (mount(type, where, type, 0, NULL))
		exit(1);
}

static void load_module(void)
{
	int fd = open(MODULE, O_RDONLY | O_CLOEXEC);

	/* Another helper may have loaded it already. */
	if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST))
		exit(1);
	close(fd);
}

/*
 * The kernel starts hundreds of helpers, for terminals above all. Those that draw go
 * first; else the rest holds them up until after late_initcall().
 */
static void go_first(void)
{
	struct sched_param first = { .sched_priority = 1 };

	if (sched_setscheduler(0, SCHED_FIFO, &first))
		exit(1);
}

static int help(void)
{
	long positions[HELPER_CALLS];
	int probe;

	if (exists(INIT_HAS_BEGUN) || !exists(MODULE) || append(TICKETS, "", 1) > HELPERS)
		return 0;
	go_first();
	if (unshare(CLONE_NEWNS))
		return 1;
	mount_own("devtmpfs", "/dev");
	mount_own("sysfs", "/sys");
	load_module();
	probe = probe_open();
	for (size_t i = 0; i < HELPER_CALLS; i++)
		positions[i] = probe_position(probe);
	if (!exists(LATER))
		append(DRAWN, positions, sizeof(positions));
	return 0;
}

static int report(size_t most)
{
	static const long shape[] = { HELPER_CALLS };
	long *positions = array(HELPERS * HELPER_CALLS);
	FILE *drawn = fopen(DRAWN, "r");
	size_t count = 0;

	if (drawn)
		count = fread(positions, sizeof(*positions), HELPERS * HELPER_CALLS, drawn);
	count = count < most ? count : most / HELPER_CALLS * HELPER_CALLS;
	if (!count) {
		fputs("the kernel started no helper before its late_initcalls\n", stderr);
		return UNSUPPORTED;
	}
	print_definition("early_shape", shape, 1);
	print_samples("early_position", positions, count);
	fclose(drawn);
	free(positions);
	return 0;
}

int main(int argc, char **argv)
{
	/* Every uevent has one. */
	return getenv("ACTION") ? help() : report(samples_wanted(argc, argv));
}
