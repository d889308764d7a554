// SPDX-License-Identifier: GPL-2.0
/*
 * Description: has the kernel write to a page table where fork counts a page that the
 * process maps.
 *
 * Usage: count TRIES
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kpkeys_count.h"
#include "oops.h"
#include "record.h"
#include "task.h"
#include "write_record.h"

enum { KIND_COUNTED = 0, PAGE = 4096, LOOK_MS = 10 };

struct ends {
	int read;
	int write;
};

static struct ends make_pipe(void)
{
	int ends[2];

	if (pipe(ends))
		fail("pipe");
	return (struct ends){ .read = ends[0], .write = ends[1] };
}

/*
 * The attacker: its fork counts the page, if the kernel lets it live. The child shares
 * the page, so both wait until that is the kernel's business again.
 */
static void __attribute__((noreturn)) attack(int device, int forked, int restored)
{
	pid_t child;
	char byte;

	/* Whoever reads waits until all have closed it, and one that is killed never does. */
	close(STDOUT_FILENO);
	if (mmap(NULL, PAGE, PROT_READ, MAP_SHARED, device, 0) == MAP_FAILED)
		fail("mmap");
	if (ioctl(device, KPKEYS_COUNT_AIM))
		fail("aim");
	child = start_task();
	if (child && write(forked, "", 1) != 1)
		fail("forked");
	if (read(restored, &byte, 1))
		fail("restored");
	if (child)
		wait_for(child);
	_exit(0);
}

/* Waits until the attacker has forked; returns whether it lives. */
static bool has_forked(int device, int forked)
{
	struct pollfd from = { .fd = forked, .events = POLLIN };
	int killed, came;

	do {
		killed = ioctl(device, KPKEYS_COUNT_KILLED);
		came = poll(&from, 1, LOOK_MS);
		if (killed < 0 || came < 0)
			fail("attacker");
	} while (!killed && !came);
	return !killed;
}

static void try_once(int device)
{
	struct ends forked = make_pipe(), restored = make_pipe();
	pid_t attacker = start_task();
	struct kpkeys_try end;
	char byte;
	bool lives;

	if (!attacker) {
		close(forked.read);
		close(restored.write);
		attack(device, forked.write, restored.read);
	}
	close(forked.write);
	close(restored.read);
	lives = has_forked(device, forked.read);
	if (lives && read(forked.read, &byte, 1) != 1)
		fail("attacker");
	if (ioctl(device, KPKEYS_COUNT_RESTORE, &end))
		fail("restore");
	print_write(KIND_COUNTED, end);
	close(restored.write);
	close(forked.read);
	/* One that was killed holds the locks that its end takes. */
	if (lives)
		wait_for(attacker);
}

int main(int argc, char **argv)
{
	size_t tries = samples_wanted(argc, argv);
	int device = open("/dev/kpkeys_count", O_RDWR | O_CLOEXEC);

	char panics;

	if (device < 0)
		fail("/dev/kpkeys_count");
	/* On arm64 a count that is stopped is the end of the attacker. */
	panics = set_panic_on_oops('0');
	for (size_t i = 0; i < tries; i++)
		try_once(device);
	set_panic_on_oops(panics);
	return 0;
}
