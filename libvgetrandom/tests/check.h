/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests exit 0 if all checks hold, 1 at the first that does not, 77 if they cannot run here. */
#ifndef VGR_TESTS_CHECK_H
#define VGR_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>

enum {
	EXIT_CANNOT_RUN = 77,
};

/* Ends the test with a message, formatted as by printf, unless the condition holds. */
#define check(condition, ...)                                                                      \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);            \
			fprintf(stderr, __VA_ARGS__);                                              \
			fputc('\n', stderr);                                                       \
			exit(EXIT_FAILURE);                                                        \
		}                                                                                  \
	} while (0)

/* Ends the test because something outside of the library is missing. */
#define cannot_run(...)                                                                            \
	do {                                                                                       \
		printf("cannot run: ");                                                            \
		printf(__VA_ARGS__);                                                               \
		putchar('\n');                                                                     \
		exit(EXIT_CANNOT_RUN);                                                             \
	} while (0)

#endif
