/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that others wrote, run as they are.
 *
 * Define _GNU_SOURCE before including this, and provide a fail() that says what failed.
 */
#ifndef TEMPER_PROGRAMS_H
#define TEMPER_PROGRAMS_H

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/types.h>

/* The folders of programs and of what they run. */
#define PROGRAMS "/usr/local/bin:/usr/bin:/bin"

static void fail(const char *what);

/* Addresses and folders must not differ from boot to boot. */
static inline void prepare_programs(void)
{
	if (personality(ADDR_NO_RANDOMIZE) < 0)
		fail("personality");
	if (setenv("PATH", PROGRAMS, 1))
		fail("environment");
	if (mkdir("/tmp", 0755) && errno != EEXIST)
		fail("/tmp");
}

/* Start a program; NULL for `files` leaves it ours. */
static inline pid_t start_program(char *const *command, const posix_spawn_file_actions_t *files)
{
	/* Ours has variables that the results need. */
	static char *const environment[] = { "PATH=" PROGRAMS, "LC_ALL=C", "TMPDIR=/tmp", NULL };
	pid_t program;
	int error = posix_spawnp(&program, command[0], files, NULL, command, environment);

	if (error) {
		errno = error;
		fail(command[0]);
	}
	return program;
}

#endif
