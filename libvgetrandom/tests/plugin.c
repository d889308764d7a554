// SPDX-License-Identifier: MIT OR Apache-2.0
/* The static library in a plug-in, as for a program that knows nothing of it. */
#include <stdint.h>
#include <vgetrandom.h>

#include "thread.h"

_Static_assert(sizeof(struct thread) == 24, "what it takes of glibc's static TLS block: README");

__attribute__((visibility("default"))) uint64_t plugin_draw(void);

uint64_t plugin_draw(void)
{
	uint64_t value;

	return vgetrandom(&value, sizeof(value), 0) == sizeof(value) ? value : 0;
}
