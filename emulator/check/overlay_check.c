// SPDX-License-Identifier: GPL-2.0
/*
 * Description: checks permission overlays (FEAT_S1POE) of a machine, without a kernel.
 *
 * It runs at EL1 of QEMU's machine "virt" and maps one page many times: by blocks and
 * pages, contiguous or not, with all permissions that a descriptor can have. It then
 * tries each access under each overlay and compares what happens, and the syndrome, with
 * what the Arm Architecture Reference Manual says (D8.4, "Memory access control").
 *
 * Prints each difference, and last how many accesses it tried and how many differed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "overlay_check.h"

enum {
	GIB = 1 << 30,
	ENTRIES = 512,
	RAM = 0x40000000,
	UART = 0x09000000,
	/* The index of what the check itself needs; all others are tried. */
	OWN_INDEX = 7,
	/* Read, write, execute: in the encoding of POR_ELx. */
	READ = 1,
	EXECUTE = 2,
	WRITE = 4,
	ALL = READ | WRITE | EXECUTE,
	MOST_SHOWN = 20,
};

#define VALID         (1UL << 0)
#define TABLE_OR_PAGE (1UL << 1)
#define DEVICE        (1UL << 2)
#define UNPRIVILEGED  (1UL << 6)
#define READ_ONLY     (1UL << 7)
#define ACCESSED      (1UL << 10)
#define CONTIGUOUS    (1UL << 52)
#define PXN           (1UL << 53)
#define UXN           (1UL << 54)
#define INDEX(i)      ((uint64_t)(i) << 60)

#define TCR2_E0POE (1UL << 2)
#define TCR2_POE   (1UL << 3)

#define ESR_OVERLAY (1UL << 38)
#define ESR_WNR     (1UL << 6)

typedef uint64_t table[ENTRIES] __attribute__((aligned(4096)));

static table level1, level2, level2_tried, level2_of_pages, level3_tried;

/* Has "ret" first, then "svc", and then data: overlay_check_start.S. */
extern char tried_page[];

/* Where the page is mapped: each in a GiB of its own. */
struct mapping {
	const char *name;
	uint64_t address;
	unsigned int level;
	uint64_t *entries;
	/* What an entry maps, in bits of the address. */
	unsigned int shift;
	uint64_t bits;
};

static const struct mapping mappings[] = {
	{ "1 GiB block", 2ul * GIB, 1, &level1[2], 30, 0 },
	{ "2 MiB block", 3ul * GIB, 2, level2_tried, 21, 0 },
	{ "2 MiB block, contiguous", 3ul * GIB, 2, level2_tried, 21, CONTIGUOUS },
	{ "page", 4ul * GIB, 3, level3_tried, 12, TABLE_OR_PAGE },
	{ "page, contiguous", 4ul * GIB, 3, level3_tried, 12, TABLE_OR_PAGE | CONTIGUOUS },
};

enum { MAPPINGS = sizeof(mappings) / sizeof(mappings[0]) };

/* An access, as attempt() knows it. */
struct access {
	const char *name;
	bool unprivileged;
	uint64_t needs;
	uint64_t offset;
	uint64_t class;
};

static const struct access accesses[] = {
	[PRIVILEGED_LOAD] = { "load", false, READ, DATA, 0x25 },
	[PRIVILEGED_STORE] = { "store", false, WRITE, DATA, 0x25 },
	[PRIVILEGED_FETCH] = { "fetch", false, EXECUTE, RETURN, 0x21 },
	[UNPRIVILEGED_LOAD] = { "ldtr", true, READ, DATA, 0x25 },
	[UNPRIVILEGED_STORE] = { "sttr", true, WRITE, DATA, 0x25 },
	[USER_LOAD] = { "load at EL0", true, READ, DATA, 0x24 },
	[USER_STORE] = { "store at EL0", true, WRITE, DATA, 0x24 },
	[USER_FETCH] = { "fetch at EL0", true, EXECUTE, CALL, 0x20 },
	[HANDLER_LOAD] = { "load by a handler", false, READ, DATA, 0x25 },
};

enum { ACCESSES = sizeof(accesses) / sizeof(accesses[0]) };

static unsigned long tries, differences;

static void put(char c)
{
	*(volatile uint32_t *)UART = (uint32_t)c;
}

static void print(const char *text)
{
	while (*text)
		put(*text++);
}

static void print_number(uint64_t number, unsigned int base)
{
	char digits[20];
	size_t count = 0;

	do {
		digits[count++] = "0123456789abcdef"[number % base];
		number /= base;
	} while (number);
	while (count)
		put(digits[--count]);
}

static void print_hex(const char *name, uint64_t number)
{
	print(name);
	print_number(number, 16);
}

static void flush_tlb(void)
{
	__asm__ volatile("dsb ish\n\ttlbi vmalle1\n\tdsb ish\n\tisb" ::: "memory");
}

/* What of a machine the tried accesses depend on. */
struct state {
	const struct mapping *mapping;
	/* AP, PXN and UXN of the descriptor. */
	uint64_t descriptor;
	unsigned int index;
	/* Of EL0 and EL1. */
	uint64_t overlay[2];
	uint64_t enabled;
	bool pan;
};

static void map(const struct state *s)
{
	const struct mapping *m = s->mapping;
	uint64_t size = 1ul << m->shift, first = RAM;

	if (m->level == 3)
		first = (uint64_t)tried_page & ~((uint64_t)ENTRIES * size - 1);
	for (size_t i = 0; i < (m->level == 1 ? 1 : m->level == 2 ? 64 : ENTRIES); i++)
		m->entries[i] = (first + i * size) | VALID | ACCESSED | m->bits | s->descriptor |
				INDEX(s->index);
	flush_tlb();
}

static uint64_t tried_address(const struct mapping *m)
{
	uint64_t page = (uint64_t)tried_page;

	if (m->level == 3)
		return m->address + (page & ((ENTRIES << m->shift) - 1));
	return m->address + page - RAM;
}

static uint64_t user_permissions(uint64_t descriptor)
{
	uint64_t allowed = descriptor & UXN ? 0 : EXECUTE;

	if (descriptor & UNPRIVILEGED)
		allowed |= descriptor & READ_ONLY ? READ : READ | WRITE;
	return allowed;
}

static uint64_t privileged_permissions(uint64_t descriptor, bool pan)
{
	uint64_t user = user_permissions(descriptor);
	uint64_t allowed = descriptor & PXN || user & WRITE ? 0 : EXECUTE;

	if (!(pan && user & READ))
		allowed |= descriptor & READ_ONLY ? READ : READ | WRITE;
	return allowed;
}

/* Reserved overlays allow nothing. */
static uint64_t overlaid(const struct state *s, bool unprivileged)
{
	uint64_t overlay = s->overlay[unprivileged ? 0 : 1];

	if (!(s->enabled & (unprivileged ? TCR2_E0POE : TCR2_POE)))
		return ALL;
	return overlay > ALL ? 0 : overlay;
}

/* Return the syndrome that an access must have, or 0 if it must work. */
static uint64_t expected(const struct state *s, const struct access *a)
{
	uint64_t overlay = overlaid(s, a->unprivileged), allowed;
	uint64_t syndrome = a->class << 26 | 1ul << 25 | 0xc | s->mapping->level;

	allowed = a->unprivileged ? user_permissions(s->descriptor)
				  : privileged_permissions(s->descriptor, s->pan);
	if (allowed & overlay & a->needs)
		return 0;
	if (a->needs == WRITE)
		syndrome |= ESR_WNR;
	return overlay & a->needs ? syndrome : syndrome | ESR_OVERLAY;
}

static void differ(const struct state *s, const struct access *a, uint64_t was, uint64_t wanted)
{
	if (differences++ >= MOST_SHOWN)
		return;
	print(a->name);
	print(", ");
	print(s->mapping->name);
	print_hex(": descriptor ", s->descriptor);
	print_hex(", index ", s->index);
	print_hex(", overlays of EL0 ", s->overlay[0]);
	print_hex(", of EL1 ", s->overlay[1]);
	print_hex(", enabled ", s->enabled);
	print(s->pan ? ", PAN" : "");
	print_hex(": syndrome ", was);
	print_hex(", should be ", wanted);
	print("\n");
}

static void compare(const struct state *s, const struct access *a, uint64_t was)
{
	uint64_t wanted = expected(s, a);

	tries++;
	if (was != wanted)
		differ(s, a, was, wanted);
}

static uint64_t registers(const struct state *s, size_t level)
{
	uint64_t own = (uint64_t)ALL << (4 * OWN_INDEX);

	return own | s->overlay[level] << (4 * s->index);
}

static void set_overlays(const struct state *s)
{
	write_por_el0(registers(s, 0));
	write_por_el1(registers(s, 1));
	write_tcr2(s->enabled);
	__asm__ volatile("isb");
}

static void try_all(const struct state *s)
{
	uint64_t address = tried_address(s->mapping);

	set_overlays(s);
	for (size_t i = 0; i < ACCESSES; i++)
		compare(s, &accesses[i], attempt(i, address + accesses[i].offset, s->pan));
}

/* The overlays of EL0 and EL1 differ, so that one taken for the other shows. */
static void try_overlays(struct state *s)
{
	static const uint64_t enabled[] = { 0, TCR2_E0POE, TCR2_POE, TCR2_E0POE | TCR2_POE };

	for (uint64_t overlay = 0; overlay < 16; overlay++) {
		s->overlay[0] = overlay;
		s->overlay[1] = (5 * overlay + 3) % 16;
		for (size_t i = 0; i < 4; i++) {
			s->enabled = enabled[i];
			for (int pan = 0; pan < 2; pan++) {
				s->pan = pan;
				try_all(s);
			}
		}
	}
}

static void try_descriptors(const struct mapping *m)
{
	for (uint64_t i = 0; i < 16; i++) {
		struct state s = {
			.mapping = m,
			.descriptor = (i & 1 ? UNPRIVILEGED : 0) | (i & 2 ? READ_ONLY : 0) |
				      (i & 4 ? PXN : 0) | (i & 8 ? UXN : 0),
			.index = i % OWN_INDEX,
		};

		map(&s);
		try_overlays(&s);
	}
}

/*
 * Whether a write to the registers counts for an access right after it, with no context
 * synchronization event but what the access itself has.
 */
static void try_late(size_t how, bool isb, bool counts)
{
	const struct access *a = &accesses[how];
	struct state after = {
		.mapping = &mappings[MAPPINGS - 1],
		.descriptor = UNPRIVILEGED,
		.index = 1,
		.enabled = TCR2_E0POE | TCR2_POE,
	};
	struct state before = after;
	uint64_t was;

	before.overlay[0] = before.overlay[1] = ALL;
	map(&before);
	set_overlays(&before);
	write_por_el0(registers(&after, 0));
	write_por_el1(registers(&after, 1));
	if (isb)
		__asm__ volatile("isb");
	was = attempt(how, tried_address(after.mapping) + a->offset, false);
	compare(counts ? &after : &before, a, was);
}

static void try_synchronization(void)
{
	try_late(PRIVILEGED_LOAD, false, false);
	try_late(PRIVILEGED_LOAD, true, true);
	/* An exception taken, and a return from one. */
	try_late(HANDLER_LOAD, false, true);
	try_late(USER_LOAD, false, true);
}

static void map_own(void)
{
	uint64_t own = VALID | ACCESSED | INDEX(OWN_INDEX);

	level1[0] = own | DEVICE | PXN | UXN;
	level1[1] = (uint64_t)level2 | VALID | TABLE_OR_PAGE;
	level1[3] = (uint64_t)level2_tried | VALID | TABLE_OR_PAGE;
	level1[4] = (uint64_t)level2_of_pages | VALID | TABLE_OR_PAGE;
	level2_of_pages[0] = (uint64_t)level3_tried | VALID | TABLE_OR_PAGE;
	for (size_t i = 0; i < 64; i++)
		level2[i] = (RAM + (i << 21)) | own;
	/* What runs at EL0. */
	level2[USER_BLOCK] |= UNPRIVILEGED | READ_ONLY | PXN;
}

static bool has_overlays(void)
{
	uint64_t features;

	__asm__("mrs %0, S3_0_C0_C7_3" : "=r"(features));
	return features >> 16 & 0xf;
}

void check(void)
{
	if (!has_overlays()) {
		print("this machine has no permission overlays\n");
		return;
	}
	map_own();
	enable_mmu((uint64_t)level1);
	for (size_t i = 0; i < MAPPINGS; i++)
		try_descriptors(&mappings[i]);
	try_synchronization();
	print_number(tries, 10);
	print(" accesses, ");
	print_number(differences, 10);
	print(" differ\n");
}
