// SPDX-License-Identifier: Apache-2.0
/*
 * Description: times operations on files of a tmpfs.
 *
 *   create  open() of a file that is not there yet, and close(). Its unlink() is not
 *           timed. It keeps the folder as it was: with files that stay, each sample
 *           would cost more than the one before, and a long run would fill the memory.
 *   stat    stat() of a file, four names deep
 *   read    pread() of a page that is in memory, from an open file
 *
 * Usage: fs WORD SAMPLES WARMUP
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/arch.h"
#include "sample.h"
#include "timing.h"

#define WHERE    "/tmp"
#define NEW_FILE "one/two/new"
#define FIFO     "fifo"
#define OLD_FILE "one/two/three/old"

enum { EXIT_UNSUPPORTED = 77, PAGE = 4096, PAGES = 16 };

struct word {
	const char *name;
	const char *workload;
	time_rounds *time;
};

static unsigned char content[PAGES * PAGE];
static int old_file;

static void __attribute__((noreturn)) fail(const char *what)
{
	perror(what);
	exit(1);
}

static void expect(const char *what, uint64_t found, uint64_t expected)
{
	if (found == expected)
		return;
	fprintf(stderr, "%s: %" PRIu64 ", not %" PRIu64 "\n", what, found, expected);
	exit(1);
}

/* A tmpfs of our own, which ends with us and which nobody else sees. */
static void enter_tmpfs(void)
{
	struct statfs there;

	if (mkdir(WHERE, 0755) && errno != EEXIST)
		fail(WHERE);
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		fail("mount namespace");
	if (mount("fs", WHERE, "tmpfs", 0, NULL) || chdir(WHERE))
		fail(WHERE);
	/* A kernel without it has something simpler by that name. */
	if (!statfs(".", &there) && there.f_type == TMPFS_MAGIC)
		return;
	fprintf(stderr, "the kernel has no tmpfs\n");
	exit(EXIT_UNSUPPORTED);
}

static void make_files(void)
{
	int fd;

	/* No two pages are the same. */
	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (unsigned char)(i / PAGE + i % 251);
	if (mkdir("one", 0755) || mkdir("one/two", 0755) || mkdir("one/two/three", 0755))
		fail("mkdir");
	fd = open(OLD_FILE, O_CREAT | O_EXCL | O_WRONLY, 0644);
	if (fd < 0 || write(fd, content, sizeof(content)) != sizeof(content))
		fail(OLD_FILE);
	close(fd);
	old_file = open(OLD_FILE, O_RDONLY | O_CLOEXEC);
	if (old_file < 0)
		fail(OLD_FILE);
}

/* A child opens a FIFO that nobody writes to: the kernel has its path until it ends. */
static pid_t hold_a_path(void)
{
	pid_t child = fork();

	if (child < 0)
		fail("fork");
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* Init reads until nobody has it open. */
		close(STDOUT_FILENO);
		open(FIFO, O_RDONLY | O_CLOEXEC);
		_exit(1);
	}
	/* Until it waits. */
	usleep(20000);
	return child;
}

/*
 * With SLUB_TINY, a slab is room for two paths, and the kernel gives it back when it is
 * empty. A call that finds no room takes pages from the page allocator and returns them,
 * 850 instructions, and other paths that happen to be there decide that. So leave room:
 * that of the first path, beside the second or another one.
 */
static void leave_room_for_a_path(void)
{
	pid_t first;

	if (mkfifo(FIFO, 0600))
		fail(FIFO);
	first = hold_a_path();
	hold_a_path();
	if (kill(first, SIGKILL) || waitpid(first, NULL, 0) != first)
		fail("child");
}

static uint64_t free_inodes(void)
{
	struct statfs here;

	if (statfs(".", &here))
		fail("statfs");
	return here.f_ffree;
}

static void time_creates(const struct word *word, struct timing *t, uint64_t rounds)
{
	uint64_t before = free_inodes();

	(void)word;
	for (uint64_t i = 0; i < rounds; i++) {
		int fd, failed;

		timing_begin(t);
		fd = open(NEW_FILE, O_CREAT | O_EXCL | O_WRONLY, 0644);
		failed = close(fd);
		timing_end(t);
		if (failed)
			fail("create");
		/* By the file system's own count. */
		expect("free inodes", free_inodes(), before - 1);
		if (unlink(NEW_FILE))
			fail("unlink");
	}
	expect("free inodes in the end", free_inodes(), before);
}

static void time_stats(const struct word *word, struct timing *t, uint64_t rounds)
{
	(void)word;
	for (uint64_t i = 0; i < rounds; i++) {
		struct stat status = { .st_size = 0 };
		int failed;

		timing_begin(t);
		failed = stat(OLD_FILE, &status);
		timing_end(t);
		if (failed)
			fail("stat");
		expect("size", (uint64_t)status.st_size, sizeof(content));
	}
}

static void time_reads(const struct word *word, struct timing *t, uint64_t rounds)
{
	static unsigned char found[PAGE];
	/* The samples go on where the warm-up ended: it must have been at every page. */
	static size_t at;

	(void)word;
	for (uint64_t i = 0; i < rounds; i++) {
		ssize_t size;

		timing_begin(t);
		size = pread(old_file, found, PAGE, (off_t)at);
		timing_end(t);
		if (size < 0)
			fail("read");
		expect("bytes read", (uint64_t)size, PAGE);
		expect("same content", !memcmp(found, content + at, PAGE), true);
		at = (at + PAGE) % sizeof(content);
	}
}

static const struct word words[] = {
	{ "create", "fs/create", time_creates },
	{ "stat", "fs/stat", time_stats },
	{ "read", "fs/read", time_reads },
};

static const struct word *find_word(const char *name)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i].name, name))
			return &words[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const struct word *word = argc == 4 ? find_word(argv[1]) : NULL;
	struct timing warm, timing;
	struct workload w;

	if (!word) {
		fprintf(stderr, "usage: %s create|stat|read SAMPLES WARMUP\n", argv[0]);
		return 1;
	}
	w = (struct workload){
		.name = word->workload,
		.count = strtoull(argv[2], NULL, 10),
		.operations = 1,
		.overhead = clock_overhead(),
	};
	enter_tmpfs();
	make_files();
	leave_room_for_a_path();
	warm = timing_create(1, false);
	timing = timing_create(1, true);
	w.warmup = warm_up(word->time, word, &warm, strtoull(argv[3], NULL, 10));
	timing_run(word->time, word, &timing, &w);
	samples_print(timing.samples, &w);
	timing_destroy(&warm);
	timing_destroy(&timing);
	return 0;
}
