// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Description: calls to the library leave nothing secret in registers or in the 64 KiB of stack
 * below.
 *
 * The test makes each call three times, twice with the same bytes in place of the vDSO's and once
 * with others: what differs only with them came from them. Registers may hold what the caller gets
 * anyway, but the stack may not: it outlives the caller's care.
 *
 * The test also checks the vDSO's own function: it searches what that leaves for its state. And it
 * says how much stack each call needs.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <vgetrandom.h>

#include "chacha20_each.h"
#include "chacha20_residue.h"
#include "config.h"
#include "thread.h"

enum {
	STACK = 65536,
	/* What the header promises, if compilers optimize. */
	STACK_MAX = 3072,
	OUT_MAX = 70000,
	FILL = 0x5a,
	/* This many bytes are hardly ever found by chance in 100 KiB of others. */
	WINDOW = 8,
	/* The same for what the caller got; the shortest result is this long. */
	OUTPUT_WINDOW = 4,
	/* The opaque state begins with the bytes left to draw, and the key. */
	STATE_SECRETS = 128,
	XSAVE_HEADER = 512,
	XSAVE_HEADER_SIZE = 64,
};

struct observation {
	struct observed_call call;
	uint8_t stack[STACK];
	uint8_t out[OUT_MAX];
};

struct subject {
	const char *name;
	/* Has the type that observe() calls. */
	chacha20_fn *call;
	/* Runs before, unobserved. */
	void (*prepare)(void);
};

static const size_t all_lengths[] = { 4, 16, 127, 128, 300, 1024, 4096, OUT_MAX };

static uint8_t stack[STACK] __attribute__((aligned(64)));
static uint8_t out[OUT_MAX] __attribute__((aligned(8)));

/* In place of the vDSO function's output; each call gives it from the start. */
static uint8_t secret[4096];
/* With this call from now on there is none; 0: never. */
static unsigned int failing;

/* Leaves none of it: the string instruction copies without registers. */
static ssize_t give_secret(void *buf, size_t len, unsigned int flags, void *slot_state, size_t size)
{
	const uint8_t *from = secret;
	uint8_t *to = buf;

	(void)flags, (void)slot_state, (void)size;
	if (failing && !--failing)
		return -EPERM;
	check(len <= sizeof(secret), "%zu bytes of the vDSO", len);
#if defined(__x86_64__)
	{
		size_t left = len;

		__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(left) : : "memory");
	}
#else
	for (size_t i = 0; i < len; i++)
		((volatile uint8_t *)to)[i] = from[i];
	__asm__ volatile("" ::: "memory");
#endif
	return (ssize_t)len;
}

static long stopped_clock(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = (struct timespec){ .tv_sec = 1000 };
	return 0;
}

/* observe() passes the same arguments to all functions. */
static void call_vgetrandom(uint8_t *to, size_t len, const uint8_t *key, const uint32_t *start)
{
	(void)key, (void)start;
	(void)vgetrandom(to, len, 0);
}

static void call_batch_bytes(uint8_t *to, size_t len, const uint8_t *key, const uint32_t *start)
{
	(void)key, (void)start;
	vgetrandom_batch_bytes(to, len);
}

/* Without a variable, which a compiler may keep on the stack. */
static void call_batch_u64(uint8_t *to, size_t len, const uint8_t *key, const uint32_t *start)
{
	(void)len, (void)key, (void)start;
	*(uint64_t *)to = vgetrandom_batch_u64();
}

static void call_batch_u32(uint8_t *to, size_t len, const uint8_t *key, const uint32_t *start)
{
	(void)len, (void)key, (void)start;
	*(uint32_t *)to = vgetrandom_batch_u32();
}

static void call_prewarm(uint8_t *to, size_t len, const uint8_t *key, const uint32_t *start)
{
	(void)to, (void)len, (void)key, (void)start;
	(void)vgetrandom_prewarm();
}

/* The next call of the batch fills it. */
static void empty_batch(void)
{
	uint64_t value;

	failing = 0;
	(void)vgetrandom(&value, sizeof(value), 0);
	vgr_thread.ready->batch_left = 0;
	vgr_thread.ready->batch_stop = 0;
	vgr_thread.ready->age_step = 0;
	vgr_thread.ready->seen_at = 0;
}

/* The next call finds it filled, and its age known. */
static void fill_batch(void)
{
	empty_batch();
	for (int i = 0; i < 8; i++)
		(void)vgetrandom_batch_u64();
}

/* What the first key expanded to is all that the call returns. */
static void fail_second_key(void)
{
	empty_batch();
	failing = 2;
}

static const struct subject subjects[] = {
	{ .name = "vgetrandom", .call = call_vgetrandom, .prepare = empty_batch },
	{ .name = "vgetrandom, the first", .call = call_vgetrandom, .prepare = vgetrandom_release },
	{ .name = "vgetrandom, failing", .call = call_vgetrandom, .prepare = fail_second_key },
	{ .name = "batch_bytes", .call = call_batch_bytes, .prepare = fill_batch },
	{ .name = "batch_bytes, filling", .call = call_batch_bytes, .prepare = empty_batch },
	{ .name = "batch_u64", .call = call_batch_u64, .prepare = fill_batch },
	{ .name = "batch_u64, filling", .call = call_batch_u64, .prepare = empty_batch },
	{ .name = "batch_u32", .call = call_batch_u32, .prepare = fill_batch },
	{ .name = "batch_u32, filling", .call = call_batch_u32, .prepare = empty_batch },
	{ .name = "prewarm", .call = call_prewarm, .prepare = vgetrandom_release },
};

static void observe_call(struct observation *seen, const struct subject *subject, size_t len)
{
	/* Always the same one, since the call may push its address. */
	static struct observed_call call;

	subject->prepare();
	memset(stack, FILL, sizeof(stack));
	memset(out, 0, sizeof(out));
	memset(&call, 0, sizeof(call));
	call.expand = subject->call;
	call.out = out;
	call.len = len;
	call.stack_top = stack + sizeof(stack);
	observe(&call);
	seen->call = call;
	memcpy(seen->stack, stack, sizeof(stack));
	memcpy(seen->out, out, sizeof(out));
#ifdef __x86_64__
	/* Do not compare which registers are in use. */
	memset(seen->call.vector + XSAVE_HEADER, 0, XSAVE_HEADER_SIZE);
#endif
}

/* Returns the number of bytes from the top to the lowest that the call wrote to. */
static size_t stack_used(const struct observation *seen)
{
	size_t at = 0;

	while (at < STACK && seen->stack[at] == FILL)
		at++;
	return STACK - at;
}

/* With the kernel's own function, whose stack counts too. */
static void measure_stack(const char *core)
{
	static struct observation seen;

	for (size_t i = 0; i < sizeof(subjects) / sizeof(*subjects); i++) {
		size_t most = 0;

		for (size_t j = 0; j < sizeof(all_lengths) / sizeof(*all_lengths); j++) {
			size_t used;

			observe_call(&seen, &subjects[i], all_lengths[j]);
			used = stack_used(&seen);
			most = used > most ? used : most;
		}
		printf("%s, %s: %zu bytes of stack\n", core, subjects[i].name, most);
#ifdef __OPTIMIZE__
		check(most <= STACK_MAX, "more than %d", STACK_MAX);
#endif
	}
}

static void observe_secret(struct observation *seen, const struct subject *subject, size_t len,
			   uint8_t fill)
{
	uint32_t word = fill;

	for (size_t i = 0; i < sizeof(secret); i++) {
		word = word * 1664525 + 1013904223;
		secret[i] = (uint8_t)(word >> 24);
	}
	observe_call(seen, subject, len);
}

/* Whether the byte at is one that the caller got, alone in its register: so ends what is copied. */
static bool is_lone_output(const uint8_t *area, size_t at, const uint8_t *output)
{
	uint64_t word;

	memcpy(&word, area + at - at % sizeof(word), sizeof(word));
	return output && word <= UINT8_MAX && memchr(output, (int)word, OUT_MAX);
}

/* Whether the bytes around at are some that the caller got, if these do not matter. */
static bool is_output(const uint8_t *area, size_t size, size_t at, const uint8_t *output)
{
	size_t first = at < OUTPUT_WINDOW - 1 ? 0 : at - (OUTPUT_WINDOW - 1);

	for (; output && first <= at && first + OUTPUT_WINDOW <= size; first++) {
		if (memmem(output, OUT_MAX, area + first, OUTPUT_WINDOW))
			return true;
	}
	return false;
}

static void check_area(const struct subject *subject, size_t len, const char *where,
		       const uint8_t *areas[3], const uint8_t *output, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (areas[0][i] != areas[1][i] || areas[0][i] == areas[2][i] ||
		    is_output(areas[0], size, i, output) || is_lone_output(areas[0], i, output))
			continue;
		check(false, "%s, %zu bytes: a secret in %s, byte %zu of %zu", subject->name, len,
		      where, i, size);
	}
}

/* Without optimization, compilers keep on the stack what a function returns, too. */
static bool returns_by_stack(const struct subject *subject)
{
#ifdef __OPTIMIZE__
	(void)subject;
	return false;
#else
	return subject->call == call_batch_u64 || subject->call == call_batch_u32;
#endif
}

static void check_call(const struct subject *subject, size_t len)
{
	static struct observation a, again, b;

	observe_secret(&a, subject, len, 1);
	observe_secret(&again, subject, len, 1);
	observe_secret(&b, subject, len, 2);
	check(subject->call == call_prewarm || memcmp(a.out, b.out, len > 8 ? len : 4) != 0,
	      "%s, %zu bytes: the same for all", subject->name, len);
	check_area(subject, len, "the stack", (const uint8_t *[]){ a.stack, again.stack, b.stack },
		   returns_by_stack(subject) ? a.out : NULL, STACK);
	check_area(subject, len, "general registers",
		   (const uint8_t *[]){ (void *)a.call.general, (void *)again.call.general,
					(void *)b.call.general },
		   a.out, sizeof(a.call.general));
	check_area(subject, len, "vector registers",
		   (const uint8_t *[]){ a.call.vector, again.call.vector, b.call.vector }, a.out,
		   VECTOR_AREA);
}

static void test(const struct chacha20 *core)
{
	const struct config found = vgr_config;

	vgr_config.chacha20 = core;
	measure_stack(core->name);
	vgr_config.vdso = give_secret;
	vgr_config.clock = stopped_clock;
	for (size_t i = 0; i < sizeof(subjects) / sizeof(*subjects); i++) {
		for (size_t j = 0; j < sizeof(all_lengths) / sizeof(*all_lengths); j++)
			check_call(&subjects[i], all_lengths[j]);
	}
	vgetrandom_release();
	vgr_config = found;
}

/* Returns the first offset in area at which some of the secrets lie, or size. */
static size_t find_secrets(const void *area, size_t size, const uint8_t *secrets, size_t len)
{
	/* What the library copies begins at such an offset. */
	for (size_t i = 0; i + WINDOW <= len; i += sizeof(uint32_t)) {
		const uint8_t *found;

		/* Skip partly erased bytes, which can be anywhere. */
		if (memchr(secrets + i, 0, WINDOW))
			continue;
		found = memmem(area, size, secrets + i, WINDOW);
		if (found)
			return (size_t)(found - (const uint8_t *)area);
	}
	return size;
}

static void check_secrets(const char *name, const struct observation *seen, const void *secrets,
			  size_t len)
{
	check(find_secrets(seen->stack, STACK, secrets, len) == STACK, "%s: on the stack", name);
	check(find_secrets(seen->call.general, sizeof(seen->call.general), secrets, len) ==
		      sizeof(seen->call.general),
	      "%s: in general registers", name);
	check(find_secrets(seen->call.vector, VECTOR_AREA, secrets, len) == VECTOR_AREA,
	      "%s: in vector registers", name);
}

/* With the kernel's own function: its state and the batch's buffer are nowhere else. */
static void test_real_vdso(void)
{
	static struct observation seen;

	for (size_t i = 0; i < sizeof(subjects) / sizeof(*subjects); i++) {
		if (subjects[i].call == call_prewarm)
			continue;
		for (size_t j = 0; j < sizeof(all_lengths) / sizeof(*all_lengths); j++) {
			const struct slot *slot;

			observe_call(&seen, &subjects[i], all_lengths[j]);
			slot = vgr_thread.ready;
			check_secrets("the vDSO's state", &seen, slot->state, STATE_SECRETS);
			check_secrets("the batch", &seen, slot->buffer->bytes, slot->batch_left);
		}
	}
	printf("the vDSO's own function: passed\n");
}

int main(void)
{
	uint8_t byte;

	if (vgetrandom(&byte, 1, 0) != 1 || vgetrandom_status() != VGETRANDOM_VDSO)
		cannot_run("%s", vgetrandom_status_text(vgetrandom_status()));
	test_real_vdso();
	return each_core(test);
}
