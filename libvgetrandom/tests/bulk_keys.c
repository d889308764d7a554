// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Description: bulk is the key stream of a fresh key for each 64 KiB, of exactly the length asked
 * for, and keys are nowhere else. The test gives known keys in place of the vDSO's, so that it
 * knows every byte.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>
#include <vgetrandom.h>

#include "chacha20_reference.h"
#include "check.h"
#include "config.h"
#include "draw.h"
#include "thread.h"

enum {
	CHUNK = 65536,
	ROOM = 4 * CHUNK,
	UNTOUCHED = 0xa5,
	FLAGS = 5,
	INVALID_FLAGS = 1 << 20,
	/* Each of them alone is valid. */
	CONTRADICTING_FLAGS = GRND_RANDOM | GRND_INSECURE,
};

static const uint32_t start[4];
static const struct chacha20 *widest;

/* What the stand-in was asked for, and what it is to do. */
static struct {
	/* Keys given so far; the number of the next. */
	unsigned int keys;
	unsigned int flags;
	size_t len;
	/* The key with this number fails with this; only once, if that is -EINTR. */
	unsigned int failing;
	ssize_t failure;
	/* This many keys in a row lose the mark, as a fork or a drop does. */
	unsigned int losses;
} vdso;

static void make_key(uint8_t key[CHACHA20_KEY_SIZE], unsigned int number)
{
	for (size_t i = 0; i < CHACHA20_KEY_SIZE; i++)
		key[i] = (uint8_t)((number + 1) * 0x9e3779b1U >> (i % 4 * 8) ^ i * 7);
}

static ssize_t give_key(void *buf, size_t len, unsigned int flags, void *state, size_t state_size)
{
	uint8_t key[CHACHA20_KEY_SIZE];

	(void)state, (void)state_size;
	vdso.flags = flags;
	vdso.len = len;
	if (vdso.failure && vdso.keys == vdso.failing) {
		ssize_t failure = vdso.failure;

		if (failure == -EINTR)
			vdso.failure = 0;
		return failure;
	}
	make_key(key, vdso.keys++);
	memcpy(buf, key, len < sizeof(key) ? len : sizeof(key));
	if (vdso.losses) {
		vdso.losses--;
		vgr_thread.ready->buffer->bulk_mark = 0;
	}
	return (ssize_t)len;
}

/* The stream of the keys from this number on. */
static void expect(uint8_t *out, size_t len, unsigned int number)
{
	for (; len; number++) {
		size_t chunk = len < CHUNK ? len : CHUNK;
		uint8_t key[CHACHA20_KEY_SIZE];

		make_key(key, number);
		reference_expand(out, chunk, key, start);
		out += chunk;
		len -= chunk;
	}
}

static uint8_t room[ROOM], expected[ROOM];

/* From a known first key. Nothing but the len bytes may change. */
static ssize_t draw_into_room(size_t len, unsigned int flags)
{
	vdso.keys = 0;
	memset(room, UNTOUCHED, sizeof(room));
	memset(expected, UNTOUCHED, sizeof(expected));
	return vgetrandom(room + CHACHA20_KEY_SIZE, len, flags);
}

static void check_room(size_t len, unsigned int first_key)
{
	expect(expected + CHACHA20_KEY_SIZE, len, first_key);
	for (size_t i = 0; i < sizeof(room); i++)
		check(room[i] == expected[i], "%zu bytes, from key %u: byte %zd", len, first_key,
		      (ssize_t)i - CHACHA20_KEY_SIZE);
}

static void check_length(size_t len)
{
	check(draw_into_room(len, FLAGS) == (ssize_t)len, "not all of %zu bytes", len);
	check_room(len, 0);
	check(vdso.keys == (len + CHUNK - 1) / CHUNK, "%zu bytes of %u keys", len, vdso.keys);
	check(vdso.flags == FLAGS, "the flags are lost");
}

static void check_lengths(void)
{
	for (size_t len = DRAW_BULK_FROM; len < 1200; len++)
		check_length(len);
	for (size_t chunks = 1; chunks < 4; chunks++) {
		for (size_t len = chunks * CHUNK - 2; len < chunks * CHUNK + 66; len++)
			check_length(len);
	}
}

/* Below the threshold the vDSO function writes everything, with the caller's flags. */
static void check_short(void)
{
	check(DRAW_BULK_FROM == 128, "%d is not what the manual page says", DRAW_BULK_FROM);
	for (size_t len = 0; len < DRAW_BULK_FROM; len++) {
		check(draw_into_room(len, FLAGS) == (ssize_t)len, "%zu bytes", len);
		check(vdso.len == len && vdso.flags == FLAGS, "%zu bytes, flags %u", vdso.len,
		      vdso.flags);
	}
}

static void check_flags(const char *when)
{
	static const size_t lengths[] = { 16, 300 };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		vdso.flags = 0;
		check(draw_into_room(lengths[i], FLAGS) == (ssize_t)lengths[i], "%s", when);
		check(vdso.flags == FLAGS, "%s: flags %u", when, vdso.flags);
	}
}

/* Calls that do not find the thread's slot idle are served elsewhere in the library. */
static void check_flags_without_an_idle_slot(void)
{
	struct slot *slot;

	vgetrandom_release();
	check_flags("the first calls");
	slot = thread_claim_ready();
	check_flags("nested calls");
	thread_release_ready(slot);
	vgetrandom_release();
	vgr_thread.mode = THREAD_BORROWS;
	check_flags("calls that borrow a slot");
	check(vgr_thread.ready == &vgr_no_slot, "they kept it");
	vgr_thread.mode = THREAD_NEW;
	check(!vgetrandom_prewarm(), "no slot again");
}

static void check_keys_are_nowhere(void)
{
	const struct slot *slot = vgr_thread.ready;

	check(draw_into_room(2 * CHUNK, 0) == 2 * CHUNK, "not all");
	for (unsigned int number = 0; number < vdso.keys; number++) {
		uint8_t key[CHACHA20_KEY_SIZE];

		make_key(key, number);
		for (size_t i = 0; i + 8 <= sizeof(key); i += 8)
			check(!memmem(slot->state, SLOT_PAGE_SIZE, key + i, 8),
			      "the slot's page holds key %u", number);
	}
}

/* The caller's pages may be droppable, too: whatever they hold is no key. */
static void drop_and_expand(uint8_t *out, size_t len, const uint8_t *key, const uint32_t *first)
{
	memset(out, 0, len);
	reference_expand(out, len, key, first);
}

static void check_drop_of_callers_pages(void)
{
	static const struct chacha20 dropping = { "dropping", drop_and_expand };

	vgr_config.chacha20 = &dropping;
	check_length(300);
	check_length(CHUNK + 300);
	vgr_config.chacha20 = widest;
}

static void check_lost_marks(void)
{
	static const size_t len = 300;

	vdso.losses = 1;
	check(draw_into_room(len, 0) == (ssize_t)len, "not after a loss");
	check_room(len, 1);
	vdso.losses = 2;
	check(draw_into_room(len, 0) == (ssize_t)len, "not after two losses");
	check(vdso.keys == 2, "%u keys", vdso.keys);
	for (unsigned int key = 0; key < 4; key++) {
		expect(expected, len, key);
		check(memcmp(room + CHACHA20_KEY_SIZE, expected, len) != 0, "of key %u", key);
	}
	/* The system call gets the caller's flags. */
	vdso.losses = 2;
	check(draw_into_room(len, INVALID_FLAGS) == -EINVAL, "the flags are lost");
	vdso.losses = 2;
	check(draw_into_room(len, CONTRADICTING_FLAGS) == -EINVAL, "a flag is lost");
}

/* What a second key's failure cuts short may have been repeated, too. */
static void check_lost_mark_and_failure(void)
{
	vdso.losses = 1;
	vdso.failure = -EINTR;
	vdso.failing = 1;
	check(draw_into_room(CHUNK + 1, 0) == CHUNK + 1, "not drawn again");
	check_room(CHUNK + 1, 1);
}

static void check_failures(void)
{
	vdso.failure = -EPERM;
	vdso.failing = 0;
	check(draw_into_room(300, 0) == -EPERM, "the first key's error is lost");
	check_room(0, 0);
	vdso.failing = 1;
	check(draw_into_room(CHUNK + 1, 0) == CHUNK, "what was drawn is lost");
	check_room(CHUNK, 0);
	/* A short key is none. */
	vdso.failure = CHACHA20_KEY_SIZE - 1;
	vdso.failing = 0;
	check(draw_into_room(300, 0) == 0, "something of a short key");
	check_room(0, 0);
	vdso.failure = 0;
}

/* A batch is bulk of one key, and nothing else. */
static void check_batch(ssize_t failure)
{
	const struct slot *slot = vgr_thread.ready;
	uint32_t size = vgr_slot_buffer_size();
	uint64_t value;

	check(size && size % 1024 == 0 && size < SLOT_PAGE_SIZE, "%u bytes", size);
	vgr_thread.ready->batch_left = 0;
	memset(vgr_thread.ready->buffer->bytes, 0, size);
	vdso.keys = 0;
	vdso.flags = FLAGS;
	vdso.failure = failure;
	vdso.failing = 0;
	value = vgetrandom_batch_u64();
	check(!vdso.flags && vdso.keys == 1, "flags %u, %u keys", vdso.flags, vdso.keys);
	expect(expected, size, 0);
	check(slot->batch_left == size - sizeof(value), "%u bytes left", slot->batch_left);
	check(!memcmp(slot->buffer->bytes, expected, slot->batch_left), "other bytes");
	check(!memcmp(&value, expected + slot->batch_left, sizeof(value)), "another number");
}

static size_t expanded;

static void count_bytes(uint8_t *out, size_t len, const uint8_t *key, const uint32_t *first)
{
	(void)out, (void)key, (void)first;
	expanded += len;
}

/* As in the system call, so that what it returns is never negative. */
static void check_huge(void)
{
	static const struct chacha20 counting = { "counting", count_bytes };

	vgr_config.chacha20 = &counting;
	check(draw_into_room(SIZE_MAX, 0) == DRAW_MAX && expanded == DRAW_MAX, "%zu bytes",
	      expanded);
	check(DRAW_MAX == (INT32_MAX & ~4095), "not the system call's");
	vgr_config.chacha20 = widest;
}

/* Without the vDSO function, the system call gets everything as it is. */
static void check_without_vdso(void)
{
	static const size_t lengths[] = { 1, 16, 300 };

	vgr_config.vdso = NULL;
	vgetrandom_release();
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		check(draw_into_room(lengths[i], INVALID_FLAGS) == -EINVAL, "the flags are lost");
		check(draw_into_room(lengths[i], CONTRADICTING_FLAGS) == -EINVAL, "a flag is lost");
		check(draw_into_room(lengths[i], 0) == (ssize_t)lengths[i], "the length is lost");
		memset(expected, UNTOUCHED, sizeof(expected));
		check(!memcmp(room, expected, CHACHA20_KEY_SIZE), "bytes before");
		check(!memcmp(room + CHACHA20_KEY_SIZE + lengths[i], expected,
			      ROOM - CHACHA20_KEY_SIZE - lengths[i]),
		      "bytes after");
	}
	check(vgetrandom_status() == VGETRANDOM_NO_VDSO, "status %d", vgetrandom_status());
	check(vgetrandom_prewarm() == -ENOSYS, "prewarm did not tell");
}

int main(void)
{
	uint8_t byte;

	if (vgetrandom(&byte, 1, 0) != 1 || vgetrandom_status() != VGETRANDOM_VDSO)
		cannot_run("%s", vgetrandom_status_text(vgetrandom_status()));
	widest = vgr_config.chacha20;
	vgr_config.vdso = give_key;
	check_lengths();
	check_short();
	check_flags_without_an_idle_slot();
	check_keys_are_nowhere();
	check_drop_of_callers_pages();
	check_lost_marks();
	check_lost_mark_and_failure();
	check_failures();
	check_batch(0);
	/* A signal came before the key: once more. */
	check_batch(-EINTR);
	check_huge();
	check_without_vdso();
	return 0;
}
