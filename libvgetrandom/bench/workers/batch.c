/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The batch generator, through the function that fits the size. */
#include "library.h"
#include "worker.h"

static inline void draw(void *buf, size_t len)
{
	if (len == sizeof(uint32_t)) {
		uint32_t word = vgetrandom_batch_u32();

		memcpy(buf, &word, sizeof(word));
	} else if (len == sizeof(uint64_t)) {
		uint64_t word = vgetrandom_batch_u64();

		memcpy(buf, &word, sizeof(word));
	} else {
		vgetrandom_batch_bytes(buf, len);
	}
}
