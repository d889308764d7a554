/* SPDX-License-Identifier: GPL-2.0 */
/* Finds kernel symbols that modules cannot link to. */
#ifndef TEMPER_SYMBOL_H
#define TEMPER_SYMBOL_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 0 if there is none. Needs root: other users see zeros. */
static inline uint64_t find_symbol(const char *wanted)
{
	FILE *symbols = fopen("/proc/kallsyms", "r");
	uint64_t address, found = 0;
	char line[512], name[256];

	while (symbols && !found && fgets(line, sizeof(line), symbols))
		if (sscanf(line, "%" SCNx64 " %*c %255s", &address, name) == 2 &&
		    !strcmp(name, wanted))
			found = address;
	if (symbols)
		fclose(symbols);
	return found;
}

static inline uint64_t symbol(const char *wanted)
{
	uint64_t found = find_symbol(wanted);

	if (!found) {
		fprintf(stderr, "/proc/kallsyms does not tell of %s\n", wanted);
		exit(77);
	}
	return found;
}

#endif
