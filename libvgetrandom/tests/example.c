// SPDX-License-Identifier: MIT OR Apache-2.0
/* The README's example, built against an installed library. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <vgetrandom.h>

int main(void)
{
	unsigned char key[32];

	if (vgetrandom(key, sizeof(key), 0) != sizeof(key))
		abort();
	printf("a key of %zu bytes, by %s\n", sizeof(key),
	       vgetrandom_status_text(vgetrandom_status()));
	printf("a number: %" PRIu64 "\n", vgetrandom_batch_u64());
	return 0;
}
