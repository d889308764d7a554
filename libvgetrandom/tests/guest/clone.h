/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a program does in a virtual machine that is cloned. */
#ifndef CLONE_H
#define CLONE_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static inline void __attribute__((noreturn)) clone_fail(const char *what)
{
	perror(what);
	exit(1);
}

static inline int open_kernel_log(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || lseek(fd, 0, SEEK_END) < 0)
		clone_fail("/dev/kmsg");
	return fd;
}

/* Whether the kernel has reported since the last call that it was cloned and has reseeded. */
static inline bool clone_seen(int kernel_log)
{
	char line[1024];
	bool seen = false;
	ssize_t size;

	while ((size = read(kernel_log, line, sizeof(line) - 1)) > 0) {
		line[size] = '\0';
		seen |= strstr(line, "reseeded due to virtual machine fork") != NULL;
	}
	if (errno != EAGAIN)
		clone_fail("reading /dev/kmsg");
	return seen;
}

/* Ask for a byte on the third serial port. */
static inline char wait_for_byte(void)
{
	int fd = open("/dev/ttyS2", O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct termios raw;
	char byte;

	if (fd < 0 || tcgetattr(fd, &raw))
		clone_fail("/dev/ttyS2");
	cfmakeraw(&raw);
	if (tcsetattr(fd, TCSANOW, &raw) || write(fd, "?", 1) != 1)
		clone_fail("/dev/ttyS2");
	if (read(fd, &byte, 1) != 1)
		clone_fail("/dev/ttyS2");
	return byte;
}

#endif
