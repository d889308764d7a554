// SPDX-License-Identifier: Apache-2.0
/*
 * Description: makes one attack on a hardening option, in a process that the kernel
 * may kill, and prints a record of how it ended:
 *
 *   attack lkdtm|probe|user NAME [SYSCTL=VALUE ...]
 *   attack module NAME
 *
 * The second form loads the module that attacks of a kind need.
 *
 * Values of the record are tries, tries that landed, the signal that ended the attack,
 * the error that it met, and what it saw that has to differ from boot to boot. Marks on
 * the console tell which of the kernel's messages belong to it. The sysctls are set for
 * the attack alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "attack.h"
#include "record.h"

enum { MOST_SECONDS = 30, FIRST_SYSCTL = 3, MOST_SYSCTLS = 8 };

static const struct {
	const char *name;
	bool (*attack)(const char *name, struct tally *tally);
} kinds[] = {
	{ "module", load_module },
	{ "lkdtm", attack_lkdtm },
	{ "probe", attack_by_probe },
	{ "user", attack_as_user },
};

/* One line a time: the kernel drops those that come too fast from one open file. */
static void mark(const char *name, const char *what)
{
	FILE *log = fopen("/dev/kmsg", "w");

	if (!log) {
		perror("/dev/kmsg");
		exit(1);
	}
	fprintf(log, "<4>temper: attack %s %s\n", name, what);
	fclose(log);
}

static void sysctl_path(char *path, size_t size, const char *name)
{
	snprintf(path, size, "/proc/sys/%s", name);
	for (char *c = path + strlen("/proc/sys/"); *c; c++)
		if (*c == '.')
			*c = '/';
}

/* Returns what the sysctl was, or NULL if this kernel does not have it. */
static char *set_sysctl(const char *name, const char *value)
{
	char path[256], before[64] = "";
	FILE *file;

	sysctl_path(path, sizeof(path), name);
	file = fopen(path, "r+");
	if (!file)
		return NULL;
	if (!fgets(before, sizeof(before), file))
		before[0] = '\0';
	rewind(file);
	if (fputs(value, file) == EOF || fflush(file)) {
		fclose(file);
		return NULL;
	}
	fclose(file);
	return strdup(before);
}

static int seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int)now.tv_sec;
}

/* Returns the signal that ended the process; ALRM for one that does not end. */
static int wait_for(pid_t child)
{
	int status, end = seconds() + MOST_SECONDS;

	while (!waitpid(child, &status, WNOHANG)) {
		if (seconds() > end) {
			kill(child, SIGKILL);
			return SIGALRM;
		}
		usleep(1000);
	}
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static int attack(const char *kind, const char *name, struct tally *tally)
{
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child < 0) {
		perror("fork");
		exit(1);
	}
	if (child)
		return wait_for(child);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kind, kinds[i].name) && kinds[i].attack(name, tally))
			_exit(0);
	tally->error = ENOSYS;
	_exit(0);
}

bool load_module(const char *name, struct tally *tally)
{
	char path[256];
	int file;

	snprintf(path, sizeof(path), "/%s.ko", name);
	file = open(path, O_RDONLY | O_CLOEXEC);
	tally->tries = 1;
	tally->landed = file >= 0 && !syscall(SYS_finit_module, file, "", 0);
	tally->error = tally->landed ? 0 : errno;
	if (tally->landed && !strcmp(name, "lkdtm") && !has_triggers()) {
		tally->landed = 0;
		tally->error = ENXIO;
	}
	return true;
}

static struct tally *shared_tally(void)
{
	void *memory = mmap(NULL, sizeof(struct tally), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return memory;
}

int main(int argc, char **argv)
{
	struct tally *tally = shared_tally();
	char *before[MOST_SYSCTLS] = { NULL };
	long values[5];
	bool all_set = true;
	int killed = 0;

	if (argc == 3 && !strcmp(argv[1], "tell")) {
		tell(argv[2]);
		return 0;
	}
	if (argc < FIRST_SYSCTL || argc > FIRST_SYSCTL + MOST_SYSCTLS) {
		fputs("usage: attack lkdtm|probe|user|module NAME [SYSCTL=VALUE ...]\n", stderr);
		return 2;
	}
	if (mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL) && errno != EBUSY)
		perror("debugfs");
	for (int i = FIRST_SYSCTL; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		*value++ = '\0';
		before[i - FIRST_SYSCTL] = set_sysctl(argv[i], value);
		all_set &= before[i - FIRST_SYSCTL] != NULL;
	}
	mark(argv[2], "begins");
	if (all_set)
		killed = attack(argv[1], argv[2], tally);
	else
		tally->error = ENOTSUP;
	mark(argv[2], "ends");
	for (int i = FIRST_SYSCTL; i < argc; i++)
		if (before[i - FIRST_SYSCTL])
			set_sysctl(argv[i], before[i - FIRST_SYSCTL]);
	values[0] = tally->tries;
	values[1] = tally->landed;
	values[2] = killed;
	values[3] = tally->error;
	values[4] = tally->seen;
	print_samples(argv[2], values, 5);
	return 0;
}
