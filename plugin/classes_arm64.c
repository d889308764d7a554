/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "classes.h"

enum {
	OTHER,
	ISB,
	DSB,
	TLBI,
	MRS_CNT,
	MSR_DAIF,
	MSR_PMR,
	MSR_TTBR,
	MSR_POR,
	MRS_POR,
	SVC,
	ERET,
	DC_ZVA,
};

const char *const class_names[] = {
	[OTHER] = "other",     [ISB] = "isb",
	[DSB] = "dsb",         [TLBI] = "tlbi",
	[MRS_CNT] = "mrs_cnt", [MSR_DAIF] = "msr_daif",
	[MSR_PMR] = "msr_pmr", [MSR_TTBR] = "msr_ttbr",
	[MSR_POR] = "msr_por", [MRS_POR] = "mrs_por",
	[SVC] = "svc",         [ERET] = "eret",
	[DC_ZVA] = "dc_zva",   NULL,
};

/* An instruction is of @class if it equals @value where @mask is set; the first match wins. */
static const struct pattern {
	uint32_t mask;
	uint32_t value;
	unsigned int class;
} patterns[] = {
	{ 0xfffff0ff, 0xd50330df, ISB },
	/* dsb #0 and #4 are ssbb and pssbb, which wait for nothing. */
	{ 0xfffffbff, 0xd503309f, OTHER },
	{ 0xfffff0ff, 0xd503309f, DSB },
	{ 0xfffff3ff, 0xd503323f, DSB },      /* dsb ...nxs */
	{ 0xfff8e000, 0xd5088000, TLBI },     /* tlbi ...nxs too */
	{ 0xffffffe0, 0xd53be020, MRS_CNT },  /* cntpct_el0 */
	{ 0xffffffe0, 0xd53be040, MRS_CNT },  /* cntvct_el0 */
	{ 0xffffffe0, 0xd53be0a0, MRS_CNT },  /* cntpctss_el0 */
	{ 0xffffffe0, 0xd53be0c0, MRS_CNT },  /* cntvctss_el0 */
	{ 0xfffff0df, 0xd50340df, MSR_DAIF }, /* daifset, daifclr */
	{ 0xffffffe0, 0xd51b4220, MSR_DAIF },
	{ 0xffffffe0, 0xd5184600, MSR_PMR },  /* icc_pmr_el1: masks by priority */
	{ 0xffffffc0, 0xd5182000, MSR_TTBR }, /* ttbr0_el1, ttbr1_el1 */
	{ 0xffffffe0, 0xd518a280, MSR_POR },  /* por_el1 */
	{ 0xffffffe0, 0xd538a280, MRS_POR },
	{ 0xffe0001f, 0xd4000001, SVC },
	{ 0xffffffff, 0xd69f03e0, ERET },
	{ 0xfffffbff, 0xd69f0bff, ERET }, /* eretaa, eretab */
	{ 0xffffffe0, 0xd50b7420, DC_ZVA },
	{ 0xffffffe0, 0xd50b7480, DC_ZVA }, /* dc gzva, which sets tags as well */
};

/* As target/arch/arm64.h emits them: mov of x10, x12 and x11 to itself. */
enum {
	BEGIN_INSN = 0xaa0a03ea,
	PAUSE_INSN = 0xaa0c03ec,
	END_INSN = 0xaa0b03eb,
	INSN_BYTES = 4,
};

static uint32_t insn_word(const uint8_t *bytes)
{
	return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

unsigned int insn_class(const uint8_t *bytes, size_t size)
{
	uint32_t insn;

	if (size != INSN_BYTES)
		return OTHER;
	insn = insn_word(bytes);
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if ((insn & patterns[i].mask) == patterns[i].value)
			return patterns[i].class;
	return OTHER;
}

const unsigned int watched_class = MSR_POR;

unsigned int written_from(const uint8_t *bytes)
{
	return insn_word(bytes) & 31;
}

enum marker insn_marker(const uint8_t *bytes, size_t size)
{
	if (size != INSN_BYTES)
		return MARKER_NONE;
	switch (insn_word(bytes)) {
	case BEGIN_INSN:
		return MARKER_BEGIN;
	case PAUSE_INSN:
		return MARKER_PAUSE;
	case END_INSN:
		return MARKER_END;
	}
	return MARKER_NONE;
}
