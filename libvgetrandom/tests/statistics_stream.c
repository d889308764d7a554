// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Description: writes the output of one path to standard output, for statistics_battery.
 *
 * Arguments: pass-through, bulk or batch; the number of MiB. Default: until the reader stops.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "check.h"
#include "statistics_paths.h"

enum {
	MIB = 1 << 20,
};

/* Returns false if the reader has stopped. */
static bool write_all(const uint8_t *from, size_t len)
{
	while (len) {
		ssize_t done = write(STDOUT_FILENO, from, len);

		if (done < 0 && errno == EPIPE)
			return false;
		check(done > 0, "writing to standard output");
		from += done;
		len -= (size_t)done;
	}
	return true;
}

int main(int argc, char **argv)
{
	static uint8_t out[MIB];
	const struct path *path;
	uint64_t count = 0, end;

	check(argc == 2 || argc == 3, "arguments: path [MiB]");
	path = path_named(argv[1]);
	check(path, "no path '%s'", argv[1]);
	end = argc == 3 ? strtoull(argv[2], NULL, 10) : UINT64_MAX;
	signal(SIGPIPE, SIG_IGN);
	do {
		path->draw(out, sizeof(out));
	} while (write_all(out, sizeof(out)) && ++count < end);
	fprintf(stderr, "%s: %" PRIu64 " MiB drawn\n", path->name, count);
	return 0;
}
