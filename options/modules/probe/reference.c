// SPDX-License-Identifier: GPL-2.0
/* Attacks on reference counters. */
#include <linux/refcount.h>
#include "probe.h"

static void saturates(struct tally *tally, const refcount_t *reference)
{
	count(tally, refcount_read(reference) != REFCOUNT_SATURATED);
}

static void refcount_inc_overflow(struct tally *tally)
{
	refcount_t reference = REFCOUNT_INIT(REFCOUNT_MAX);

	refcount_inc(&reference);
	saturates(tally, &reference);
}

static void refcount_add_overflow(struct tally *tally)
{
	refcount_t reference = REFCOUNT_INIT(REFCOUNT_MAX);

	refcount_add(6, &reference);
	saturates(tally, &reference);
}

static void refcount_inc_not_zero_overflow(struct tally *tally)
{
	refcount_t reference = REFCOUNT_INIT(REFCOUNT_MAX);

	if (refcount_inc_not_zero(&reference))
		saturates(tally, &reference);
}

static void refcount_inc_zero(struct tally *tally)
{
	refcount_t reference = REFCOUNT_INIT(0);

	refcount_inc(&reference);
	saturates(tally, &reference);
}

static void refcount_add_zero(struct tally *tally)
{
	refcount_t reference = REFCOUNT_INIT(0);

	refcount_add(3, &reference);
	saturates(tally, &reference);
}

static void refcount_dec_zero(struct tally *tally)
{
	refcount_t reference = REFCOUNT_INIT(1);

	refcount_dec(&reference);
	saturates(tally, &reference);
}

static void refcount_dec_negative(struct tally *tally)
{
	refcount_t reference = REFCOUNT_INIT(0);

	refcount_dec(&reference);
	saturates(tally, &reference);
}

static void refcount_sub_negative(struct tally *tally)
{
	refcount_t reference = REFCOUNT_INIT(2);

	/* Freed, if it returns true: another reference would be to freed memory. */
	if (refcount_sub_and_test(3, &reference))
		count(tally, true);
	else
		saturates(tally, &reference);
}

const struct attack reference_attacks[] = {
	{ "refcount_inc_overflow", refcount_inc_overflow },
	{ "refcount_add_overflow", refcount_add_overflow },
	{ "refcount_inc_not_zero_overflow", refcount_inc_not_zero_overflow },
	{ "refcount_inc_zero", refcount_inc_zero },
	{ "refcount_add_zero", refcount_add_zero },
	{ "refcount_dec_zero", refcount_dec_zero },
	{ "refcount_dec_negative", refcount_dec_negative },
	{ "refcount_sub_negative", refcount_sub_negative },
	{},
};
