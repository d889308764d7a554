/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VGR_TESTS_SANDBOX_H
#define VGR_TESTS_SANDBOX_H

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

/* Runs function in a child, which then exits with EXIT_SUCCESS. Returns its wait status. */
static inline int run_alone(void (*function)(void))
{
	pid_t pid = fork();
	int status;

	check(pid >= 0, "no fork");
	if (!pid) {
		function();
		_exit(EXIT_SUCCESS);
	}
	check(waitpid(pid, &status, 0) == pid, "no child");
	return status;
}

#endif
