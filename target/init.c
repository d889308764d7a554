// SPDX-License-Identifier: Apache-2.0
/*
 * Description: the first process of a guest. Runs the job in /job and sends what
 * its programs print over the channel, a record a line, numbered.
 *
 * Lines of the job, in this order:
 *   channel DEVICE        where records go
 *   unit UNIT             what the guest's clock counts
 *   settle SECONDS        wait until what a boot leaves to do later is done
 *   module NAME           load /NAME.ko
 *   run PROGRAM WORD ...  run /PROGRAM and wait for it
 *
 * A program's output is its records, without numbers; so it can be run by hand on
 * any machine and read. What it says on standard error goes to the console.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { MAX_WORDS = 16, PROTOCOL = 1 };

static FILE *channel;
static unsigned long records;
static unsigned int regions;

/* Init must not return: the kernel would panic and be blamed. */
static void __attribute__((noreturn)) stop(void)
{
	if (channel) {
		fflush(channel);
		tcdrain(fileno(channel));
	}
	sync();
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

static void __attribute__((noreturn)) fail(const char *what)
{
	fprintf(stderr, "temper init: %s: %s\n", what, strerror(errno));
	stop();
}

static void mount_or_fail(const char *type, const char *where)
{
	mkdir(where, 0755);
	if (mount(type, where, type, 0, NULL) && errno != EBUSY)
		fail(where);
}

/* Printed lines must arrive as they are: no line discipline in between. */
static void open_channel(const char *device)
{
	struct termios raw;
	int fd = open(device, O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		fail(device);
	if (!tcgetattr(fd, &raw)) {
		cfmakeraw(&raw);
		cfsetspeed(&raw, B115200);
		tcsetattr(fd, TCSANOW, &raw);
	}
	channel = fdopen(fd, "w");
	if (!channel)
		fail(device);
}

static void __attribute__((format(printf, 1, 2))) send_record(const char *fields, ...)
{
	va_list args;

	va_start(args, fields);
	fprintf(channel, "{\"n\":%lu,", records++);
	vfprintf(channel, fields, args);
	fputs("}\n", channel);
	va_end(args);
	fflush(channel);
}

/* A line that is no record goes as it is: the host must see it and object. */
static void forward(const char *line)
{
	if (line[0] == '{')
		fprintf(channel, "{\"n\":%lu,%s", records++, line + 1);
	else
		fputs(line, channel);
	regions += strstr(line, "\"type\":\"workload\"") != NULL;
}

static void forward_all(int fd)
{
	FILE *output = fdopen(fd, "r");
	char *line = NULL;
	size_t size = 0;

	if (!output)
		fail("output");
	while (getline(&line, &size, output) > 0)
		forward(line);
	fflush(channel);
	free(line);
	fclose(output);
}

static void __attribute__((noreturn)) become(char **words, int output)
{
	char path[256], region[16];

	snprintf(path, sizeof(path), "/%s", words[0]);
	snprintf(region, sizeof(region), "%u", regions);
	setenv("TEMPER_REGION", region, 1);
	dup2(output, STDOUT_FILENO);
	/* Let init go to sleep first, or it does so in the program's first samples. */
	usleep(20000);
	execv(path, words);
	perror(path);
	_exit(127);
}

static int exit_status(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void run(char **words, const char *joined)
{
	int ends[2], status;
	pid_t child;

	send_record("\"type\":\"start\",\"program\":\"%s\"", joined);
	if (pipe2(ends, O_CLOEXEC))
		fail("pipe");
	child = fork();
	if (child < 0)
		fail("fork");
	if (child == 0)
		become(words, ends[1]);
	close(ends[1]);
	forward_all(ends[0]);
	if (waitpid(child, &status, 0) != child)
		fail("waitpid");
	send_record("\"type\":\"exit\",\"program\":\"%s\",\"status\":%d", joined,
		    exit_status(status));
}

static void load_module(const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "/%s.ko", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fail(path);
	/* A program that ran before init may have had use for it. */
	if (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST)
		fail(path);
	close(fd);
}

static void read_word(const char *path, char *word, size_t size)
{
	FILE *file = fopen(path, "r");

	snprintf(word, size, "unknown");
	if (!file)
		return;
	if (fgets(word, (int)size, file))
		word[strcspn(word, "\n")] = '\0';
	fclose(file);
}

static void send_boot(void)
{
	struct utsname name;
	char source[64];

	uname(&name);
	read_word("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
		  sizeof(source));
	send_record("\"type\":\"boot\",\"protocol\":%d,\"release\":\"%s\",\"clocksource\":\"%s\","
		    "\"cpus\":%ld",
		    PROTOCOL, name.release, source, sysconf(_SC_NPROCESSORS_ONLN));
}

static void obey(char *line)
{
	char *words[MAX_WORDS + 1] = { NULL }, *rest = line, *verb = strsep(&rest, " ");
	char joined[256];
	int count = 0;

	if (!rest)
		fail("a job line without a word after its verb");
	snprintf(joined, sizeof(joined), "%s", rest);
	while (count < MAX_WORDS && (words[count] = strsep(&rest, " ")))
		count++;
	if (!strcmp(verb, "channel")) {
		open_channel(words[0]);
		send_boot();
	} else if (!strcmp(verb, "unit")) {
		setenv("TEMPER_UNIT", words[0], 1);
	} else if (!strcmp(verb, "settle")) {
		sleep((unsigned int)strtoul(words[0], NULL, 10));
	} else if (!strcmp(verb, "module")) {
		load_module(words[0]);
	} else if (!strcmp(verb, "run")) {
		run(words, joined);
	} else {
		fail("unknown verb in the job");
	}
}

int main(void)
{
	char *line = NULL;
	size_t size = 0;
	FILE *job;

	mount_or_fail("proc", "/proc");
	mount_or_fail("sysfs", "/sys");
	mount_or_fail("devtmpfs", "/dev");
	freopen("/dev/console", "w", stderr);
	job = fopen("/job", "r");
	if (!job)
		fail("/job");
	while (getline(&line, &size, job) > 0) {
		line[strcspn(line, "\n")] = '\0';
		obey(line);
	}
	send_record("\"type\":\"end\"");
	stop();
}
