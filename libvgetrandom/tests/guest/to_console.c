// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Description: runs another program of the guest with its output on the console.
 *
 * The lab's init reads records from standard output, but tests print other text there.
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
