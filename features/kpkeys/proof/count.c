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
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "kpkeys_count.h"
#include "record.h"
#include "task.h"
#include "write_record.h"

enum { KIND_COUNTED = 0, PAGE = 4096 };

/* The child shares the page, so it waits until that is the kernel's business again. */
static void try_once(int device)
{
	struct kpkeys_try end;
	int restored[2];
	pid_t child;
	char byte;

	if (pipe(restored))
		fail("pipe");
	if (ioctl(device, KPKEYS_COUNT_AIM))
		fail("aim");
	child = start_task();
	if (!child) {
		close(restored[1]);
		_exit(read(restored[0], &byte, 1) != 0);
	}
	if (ioctl(device, KPKEYS_COUNT_RESTORE, &end))
		fail("restore");
	print_write(KIND_COUNTED, end);
	close(restored[1]);
	close(restored[0]);
	wait_for(child);
}

int main(int argc, char **argv)
{
	size_t tries = samples_wanted(argc, argv);
	int device = open("/dev/kpkeys_count", O_RDWR | O_CLOEXEC);

	if (device < 0)
		fail("/dev/kpkeys_count");
	if (mmap(NULL, PAGE, PROT_READ, MAP_SHARED, device, 0) == MAP_FAILED)
		fail("mmap");
	for (size_t i = 0; i < tries; i++)
		try_once(device);
	return 0;
}
