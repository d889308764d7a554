// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Description: runs another program of the guest with its output on the console.
 *
 * Standard output is where the lab's init takes records from, and tests print what they like.
 */
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char path[256];

	if (argc < 2)
		return 1;
	dup2(STDERR_FILENO, STDOUT_FILENO);
	snprintf(path, sizeof(path), "/%s", argv[1]);
	execv(path, argv + 1);
	perror(path);
	return 1;
}
