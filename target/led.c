// SPDX-License-Identifier: Apache-2.0
/*
 * Description: the first process of a guest that the host leads through events. It
 * loads every module in the root folder. Then it obeys the lines that it reads from
 * the channel and answers each with a line, "ok" or "failed" and what there is to
 * report:
 *   read FILE               report its contents as one line
 *   write FILE TEXT
 *   use MEGABYTES           use memory, in a process of its own
 *   load FLAGS COMMANDLINE  load /kernel with /initramfs, for kexec
 *   return                  load code that only returns, for kexec and back (x86-64)
 *   swap DEVICE             start to swap to it
 *   mount TYPE FOLDER
 *   reboot COMMAND          a number of reboot(2)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/kexec.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "arch/arch.h"

static FILE *from_host;
static FILE *to_host;
static char told[1 << 16];

static bool read_file(const char *path)
{
	int fd = open(path, O_RDONLY);
	size_t size = 0;
	ssize_t got = 0;

	if (fd < 0)
		return false;
	while (size < sizeof(told) - 1 &&
	       (got = read(fd, told + size, sizeof(told) - 1 - size)) > 0)
		size += got;
	close(fd);
	told[size] = 0;
	for (char *end = told; (end = strchr(end, '\n'));)
		*end = ';';
	return !got;
}

static bool write_file(char *path)
{
	char *text = strchr(path, ' ');
	bool done;
	int fd;

	if (!text)
		return false;
	*text++ = 0;
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return false;
	done = write(fd, text, strlen(text)) >= 0;
	close(fd);
	return done;
}

/* Use the memory in a child, whose end frees it. */
static bool use_memory(size_t size)
{
	int status;
	pid_t child = fork();

	if (!child) {
		char *area = mmap(NULL, size, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (area == MAP_FAILED)
			_exit(1);
		memset(area, 1, size);
		_exit(0);
	}
	return child > 0 && waitpid(child, &status, 0) == child && !status;
}

static bool load_kernel(const char *words)
{
	char *cmdline;
	unsigned long flags = strtoul(words, &cmdline, 0);
	int kernel = open("/kernel", O_RDONLY | O_CLOEXEC);
	int initramfs = open("/initramfs", O_RDONLY | O_CLOEXEC);
	bool done;

	cmdline++;
	done = !syscall(SYS_kexec_file_load, kernel, initramfs, strlen(cmdline) + 1, cmdline,
			flags);
	close(kernel);
	close(initramfs);
	return done;
}

/* A "kernel" that comes back: it only returns to its caller. */
static bool load_return(void)
{
	static const unsigned char code[] = { 0xc3 };
	struct kexec_segment segment = {
		.buf = code,
		.bufsz = sizeof(code),
		.mem = (void *)0x100000,
		.memsz = 4096,
	};

	return !syscall(SYS_kexec_load, 0x100000, 1, &segment,
			KEXEC_PRESERVE_CONTEXT | KEXEC_ARCH_DEFAULT);
}

static bool mount_on(char *type)
{
	char *where = strchr(type, ' ');

	if (!where)
		return false;
	*where++ = 0;
	return !mount(type, where, type, 0, NULL);
}

static bool restart(unsigned int command)
{
	sync();
	return !syscall(SYS_reboot, 0xfee1dead, 0x28121969, command, NULL);
}

static bool obey(char *line)
{
	char *rest = strchr(line, ' ');

	if (rest)
		*rest++ = 0;
	else
		rest = "";
	if (!strcmp(line, "read"))
		return read_file(rest);
	if (!strcmp(line, "write"))
		return write_file(rest);
	if (!strcmp(line, "use"))
		return use_memory(strtoul(rest, NULL, 0) << 20);
	if (!strcmp(line, "load"))
		return load_kernel(rest);
	if (!strcmp(line, "return"))
		return load_return();
	if (!strcmp(line, "swap"))
		return !swapon(rest, 0);
	if (!strcmp(line, "mount"))
		return mount_on(rest);
	if (!strcmp(line, "reboot"))
		return restart(strtoul(rest, NULL, 0));
	errno = ENOSYS;
	return false;
}

static void __attribute__((noreturn)) fail(const char *what)
{
	fprintf(stderr, "init: %s: %s\n", what, strerror(errno));
	for (;;)
		pause();
}

static void mount_or_fail(const char *type, const char *where)
{
	mkdir(where, 0755);
	if (mount(type, where, type, 0, NULL) && errno != EBUSY)
		fail(where);
}

static void open_host(void)
{
	struct termios raw;
	int fd = open(CHANNEL, O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 || tcgetattr(fd, &raw))
		fail(CHANNEL);
	cfmakeraw(&raw);
	cfsetspeed(&raw, B115200);
	tcsetattr(fd, TCSANOW, &raw);
	from_host = fdopen(fd, "r");
	to_host = fdopen(dup(fd), "w");
	if (!from_host || !to_host)
		fail(CHANNEL);
	setlinebuf(to_host);
}

static void load_module(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || syscall(SYS_finit_module, fd, "", 0))
		fail(path);
	close(fd);
}

static void load_modules(void)
{
	glob_t found;
	int status = glob("/*.ko", 0, NULL, &found);

	if (status == GLOB_NOMATCH)
		return;
	if (status)
		fail("glob");
	for (size_t i = 0; i < found.gl_pathc; i++)
		load_module(found.gl_pathv[i]);
	globfree(&found);
}

int main(void)
{
	static char line[4096];

	mount_or_fail("devtmpfs", "/dev");
	mount_or_fail("proc", "/proc");
	mount_or_fail("sysfs", "/sys");
	mount_or_fail("debugfs", "/sys/kernel/debug");
	load_modules();
	open_host();
	fputs("ready\n", to_host);
	while (fgets(line, sizeof(line), from_host)) {
		line[strcspn(line, "\n")] = 0;
		errno = 0;
		told[0] = 0;
		if (obey(line))
			fprintf(to_host, "ok %s\n", told);
		else
			fprintf(to_host, "failed %s\n", strerror(errno));
	}
	fail("the host is gone");
}
