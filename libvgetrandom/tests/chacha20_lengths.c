/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Compares all lengths that some path of a core could treat differently with OpenSSL if it is
 * there, in a buffer between inaccessible pages.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "chacha20_each.h"
#include "chacha20_reference.h"

enum {
	MAX_BYTES = 1100,
	MAX_BLOCKS = 64,
	/* Whole pages on any kernel: a page has at most 64 KiB. */
	ROOM = 65536,
	UNTOUCHED = 0xa5,
};

/* Returns ROOM bytes between two inaccessible pages. */
static uint8_t *guarded_room(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *all = mmap(NULL, ROOM + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(all != MAP_FAILED, "no memory");
	check(!mprotect(all + page, ROOM, PROT_READ | PROT_WRITE), "no memory");
	return all + page;
}

static void check_at(const struct chacha20 *core, uint8_t *room, size_t offset, size_t len)
{
	static const uint32_t start[4] = { UINT32_MAX - 20, 7, 0x12345678, 0x9abcdef0 };
	static uint8_t expected[ROOM];
	uint8_t key[CHACHA20_KEY_SIZE];

	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)(len * 31 + i * 7);
	memset(expected, UNTOUCHED, sizeof(expected));
	memset(room, UNTOUCHED, ROOM);
	expected_expand(expected + offset, len, key, start);
	core->expand(room + offset, len, key, start);
	check(!memcmp(room, expected, ROOM), "%s: %zu bytes at offset %zu of %d", core->name, len,
	      offset, ROOM);
}

static uint8_t *room;

static void test(const struct chacha20 *core)
{
	for (size_t len = 0; len <= MAX_BYTES; len++) {
		check_at(core, room, 0, len);
		check_at(core, room, ROOM - len, len);
	}
	for (size_t blocks = 0; blocks <= MAX_BLOCKS; blocks++) {
		check_at(core, room, 0, blocks * CHACHA20_BLOCK_SIZE);
		check_at(core, room, ROOM - blocks * CHACHA20_BLOCK_SIZE,
			 blocks * CHACHA20_BLOCK_SIZE);
	}
}

int main(void)
{
	room = guarded_room();
	return each_core(test);
}
