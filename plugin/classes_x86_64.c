/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "classes.h"

#include <stdbool.h>
#include <string.h>

enum {
	OTHER,
	RDTSC,
	WRMSR,
	RDMSR,
	INVLPG,
	INVPCID,
	MOV_CR3,
	STAC,
	CLAC,
	REP_STRING,
	VERW,
};

const char *const class_names[] = {
	[OTHER] = "other",
	[RDTSC] = "rdtsc",
	[WRMSR] = "wrmsr",
	[RDMSR] = "rdmsr",
	[INVLPG] = "invlpg",
	[INVPCID] = "invpcid",
	[MOV_CR3] = "mov_cr3",
	[STAC] = "stac",
	[CLAC] = "clac",
	[REP_STRING] = "rep_string",
	[VERW] = "verw", /* clears CPU buffers, too */
	NULL,
};

/* As target/arch/x86_64.h emits them: xchg of %r10, %r12 and %r11 with itself. */
static const uint8_t begin_bytes[] = { 0x4d, 0x87, 0xd2 };
static const uint8_t pause_bytes[] = { 0x4d, 0x87, 0xe4 };
static const uint8_t end_bytes[] = { 0x4d, 0x87, 0xdb };

static bool is_prefix(uint8_t byte)
{
	switch (byte) {
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64 ... 0x67:
	case 0xf0:
	case 0xf2:
	case 0xf3:
	case 0x40 ... 0x4f: /* REX */
		return true;
	default:
		return false;
	}
}

/* The field of a ModRM byte that tells the instructions of a group apart. */
static unsigned int reg_of(uint8_t modrm)
{
	return modrm >> 3 & 7;
}

/* 0f 01: a group told apart by its ModRM byte. */
static unsigned int group_0f01(uint8_t modrm)
{
	switch (modrm) {
	case 0xca:
		return CLAC;
	case 0xcb:
		return STAC;
	case 0xf9:
		return RDTSC; /* rdtscp */
	}
	return modrm < 0xc0 && reg_of(modrm) == 7 ? INVLPG : OTHER;
}

static bool is_string(uint8_t opcode)
{
	switch (opcode) {
	case 0x6c ... 0x6f: /* ins, outs */
	case 0xa4 ... 0xa7: /* movs, cmps */
	case 0xaa ... 0xaf: /* stos, lods, scas */
		return true;
	default:
		return false;
	}
}

unsigned int insn_class(const uint8_t *bytes, size_t size)
{
	bool repeated = false;

	while (size && is_prefix(*bytes)) {
		repeated |= *bytes == 0xf2 || *bytes == 0xf3;
		bytes++;
		size--;
	}
	/* QEMU executes each iteration as an instruction of its own. */
	if (size && repeated && is_string(bytes[0]))
		return REP_STRING;
	if (size < 2 || bytes[0] != 0x0f)
		return OTHER;
	switch (bytes[1]) {
	case 0x00:
		return size > 2 && reg_of(bytes[2]) == 5 ? VERW : OTHER;
	case 0x30:
		return WRMSR;
	case 0x31:
		return RDTSC;
	case 0x32:
		return RDMSR;
	case 0x01:
		return size > 2 ? group_0f01(bytes[2]) : OTHER;
	case 0x22:
		return size > 2 && reg_of(bytes[2]) == 3 ? MOV_CR3 : OTHER;
	case 0x38:
		return size > 2 && bytes[2] == 0x82 ? INVPCID : OTHER;
	}
	return OTHER;
}

const unsigned int watched_class = WRMSR;

unsigned int written_from(const uint8_t *bytes)
{
	(void)bytes;
	return NO_REGISTER;
}

enum marker insn_marker(const uint8_t *bytes, size_t size)
{
	if (size != sizeof(begin_bytes))
		return MARKER_NONE;
	if (!memcmp(bytes, begin_bytes, size))
		return MARKER_BEGIN;
	if (!memcmp(bytes, pause_bytes, size))
		return MARKER_PAUSE;
	if (!memcmp(bytes, end_bytes, size))
		return MARKER_END;
	return MARKER_NONE;
}
