/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A core leaves nothing secret behind. Bytes in registers or in the 64 KiB of stack below came from
 * the key if they differ after calls with different keys and not after calls with the same key.
 */
#include <stddef.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "chacha20_each.h"
#include "chacha20_reference.h"
#include "chacha20_residue.h"

_Static_assert(offsetof(struct observed_call, general) == 48 &&
		       offsetof(struct observed_call, vector) == 320,
	       "chacha20_residue_*.S know these");

enum {
	STACK = 65536,
	MAX_LEN = 1100,
	FILL = 0x5a,
};

struct observation {
	struct observed_call call;
	uint8_t stack[STACK];
};

static const size_t long_lengths[] = { 1536, 2048, 4096, 4097, 65536, 66000 };

static uint8_t stack[STACK] __attribute__((aligned(64)));
static uint8_t out[66000];

static void observe_key(struct observation *seen, chacha20_fn *expand, size_t len, uint8_t fill)
{
	static const uint32_t start[4] = { UINT32_MAX - 3, 5, 6, 7 };
	static uint8_t key[CHACHA20_KEY_SIZE];
	/* Always the same one, since the function may push its address. */
	static struct observed_call call;

	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)(fill + 29 * i);
	memset(stack, FILL, sizeof(stack));
	memset(&call, 0, sizeof(call));
	call.expand = expand;
	call.out = out;
	call.len = len;
	call.key = key;
	call.start = start;
	call.stack_top = stack + sizeof(stack);
	observe(&call);
	seen->call = call;
	memcpy(seen->stack, stack, sizeof(stack));
#ifdef __x86_64__
	/* Do not compare the XSAVE area's header, which says which registers are in use. */
	memset(seen->call.vector + 512, 0, 64);
#endif
}

/* Returns the first offset at which the key shows, or len. */
static size_t first_residue(const void *key_a, const void *again, const void *key_b, size_t len)
{
	const uint8_t *a = key_a;
	const uint8_t *a2 = again;
	const uint8_t *b = key_b;
	size_t i = 0;

	while (i < len && (a[i] != a2[i] || a[i] == b[i]))
		i++;
	return i;
}

struct residue {
	/* Offsets, or the size of what was searched. */
	size_t stack;
	size_t general;
	size_t vector;
};

static struct residue find_residue(chacha20_fn *expand, size_t len)
{
	static struct observation a, again, b;

	observe_key(&a, expand, len, 1);
	observe_key(&again, expand, len, 1);
	observe_key(&b, expand, len, 0x80);
	return (struct residue){
		.stack = first_residue(a.stack, again.stack, b.stack, STACK),
		.general = first_residue(a.call.general, again.call.general, b.call.general,
					 sizeof(a.call.general)),
		.vector =
			first_residue(a.call.vector, again.call.vector, b.call.vector, VECTOR_AREA),
	};
}

static void check_length(const struct chacha20 *core, size_t len)
{
	const struct residue found = find_residue(core->expand, len);

	check(found.stack == STACK, "%s, %zu bytes: a secret %zu bytes below the caller's stack",
	      core->name, len, STACK - found.stack);
	check(found.general == GENERAL_REGISTERS * sizeof(uint64_t),
	      "%s, %zu bytes: a secret in general register %zu of chacha20_residue_*.S", core->name,
	      len, found.general / sizeof(uint64_t));
	check(found.vector == VECTOR_AREA,
	      "%s, %zu bytes: a secret in the vector registers, byte %zu of their area", core->name,
	      len, found.vector);
}

static void test(const struct chacha20 *core)
{
	for (size_t len = 0; len <= MAX_LEN; len++)
		check_length(core, len);
	for (size_t i = 0; i < sizeof(long_lengths) / sizeof(*long_lengths); i++)
		check_length(core, long_lengths[i]);
}

/* Leaves the key in as many places as it can. */
static void leave_residue(uint8_t *to, size_t len, const uint8_t key[CHACHA20_KEY_SIZE],
			  const uint32_t start[4])
{
	volatile uint8_t copy[CHACHA20_KEY_SIZE];
	uint64_t word;

	(void)to, (void)len, (void)start;
	for (size_t i = 0; i < sizeof(copy); i++)
		copy[i] = key[i];
	memcpy(&word, key, sizeof(word));
#if defined(__x86_64__)
	__asm__ volatile("mov %0, %%r11\n\tmovq %0, %%xmm9" : : "r"(word) : "r11", "xmm9");
#elif defined(__aarch64__)
	/* Only the high half, which is easily forgotten. */
	__asm__ volatile("mov x11, %0\n\tmov v9.d[1], %0" : : "r"(word) : "x11");
#endif
}

/* A search that finds nothing after leave_residue() does not work. */
static void check_search(void)
{
	const struct residue found = find_residue(leave_residue, 100);

	check(found.stack < STACK, "the search does not see the stack");
	check(found.general < GENERAL_REGISTERS * sizeof(uint64_t),
	      "the search does not see general registers");
	check(found.vector < VECTOR_AREA, "the search does not see vector registers");
}

int main(void)
{
#ifdef __x86_64__
	unsigned int eax, ebx, ecx, edx;

	__cpuid(1, eax, ebx, ecx, edx);
	if (!(ecx & bit_OSXSAVE))
		cannot_run("this CPU has no XSAVE");
#endif
	check_search();
	return each_core(test);
}
