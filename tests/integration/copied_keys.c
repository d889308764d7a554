// SPDX-License-Identifier: Apache-2.0
/*
 * Description: reads the key of CPU 0 over and over while its virtual machine is copied.
 *
 * Waits for a byte on the third serial port before it does. Prints all keys, and the first
 * reading after the kernel said that its machine is a copy; -1: it never did.
 *
 * Usage: copied_keys READINGS
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdbool.h>
#include <termios.h>
#include <unistd.h>

#include "generator.h"
#include "probe.h"
#include "record.h"

static int open_kernel_log(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || lseek(fd, 0, SEEK_END) < 0)
		fail("/dev/kmsg");
	return fd;
}

static bool is_told(int kernel_log)
{
	char line[1024];
	bool told = false;
	ssize_t size;

	while ((size = read(kernel_log, line, sizeof(line) - 1)) > 0) {
		line[size] = '\0';
		told |= strstr(line, "reseeded due to virtual machine fork") != NULL;
	}
	return told;
}

static void wait_for_byte(void)
{
	int fd = open("/dev/ttyS2", O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct termios raw;
	char byte;

	if (fd < 0 || tcgetattr(fd, &raw))
		fail("/dev/ttyS2");
	cfmakeraw(&raw);
	if (tcsetattr(fd, TCSANOW, &raw) || write(fd, "?", 1) != 1 || read(fd, &byte, 1) != 1)
		fail("/dev/ttyS2");
}

int main(int argc, char **argv)
{
	size_t readings = samples_wanted(argc, argv);
	int probe = probe_open(), kernel_log = open_kernel_log();
	uint64_t symbol = generator_symbol();
	long *keys = array(readings), told = -1;

	wait_for_byte();
	for (size_t i = 0; i < readings; i++) {
		/* The kernel's worker gets its turn. */
		sched_yield();
		if (told < 0 && is_told(kernel_log))
			told = (long)i;
		keys[i] = (long)read_generator(probe, symbol, 0).cpu_state[0];
	}
	print_samples("told", &told, 1);
	print_samples("key", keys, readings);
	free(keys);
	return 0;
}
