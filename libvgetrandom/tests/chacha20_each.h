/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Runs a test with each core that this CPU can run. */
#ifndef VGR_TESTS_CHACHA20_EACH_H
#define VGR_TESTS_CHACHA20_EACH_H

#include "chacha20.h"
#include "check.h"

/*
 * Returns the exit status. A CPU with only the architecture's baseline does not show that the
 * library works.
 */
static inline int each_core(void (*test)(const struct chacha20 *core))
{
	int lacking = 0;
	int passed = 0;

	for (const struct chacha20 *core = vgr_chacha20_all; core->name; core++) {
		if (!vgr_chacha20_usable(core)) {
			printf("%s: NOT TESTED, this CPU lacks it\n", core->name);
			lacking++;
			continue;
		}
		test(core);
		printf("%s: passed\n", core->name);
		passed++;
	}
	check(passed > 0, "there is no core");
	return lacking && passed == 1 ? EXIT_CANNOT_RUN : EXIT_SUCCESS;
}

#endif
