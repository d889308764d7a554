/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stretches.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "tally.h"

static const char *const write_names[NR_WRITES] = {
	[WRITE_UNTOLD] = "untold",
	[WRITE_OPENS] = "opened",
	[WRITE_CLOSES] = "closed",
	[WRITE_OTHER] = "other",
};

static bool is_open;
static uint64_t opened_at;

static bool counting;
static unsigned int region;
static uint64_t writes[NR_WRITES];
/* Writes that close what is closed: we took it for closed, or the kernel did not. */
static uint64_t closed_again;
/* Markers, which are in user mode, that came while it was open. */
static uint64_t open_at_marker;
/* Whether such a marker came in this stretch: its length says nothing. */
static bool is_cut;
static struct tally lengths;

static struct tally places;
static uint64_t nowhere;
static uint64_t *place = &nowhere;
static uint64_t placed_until;

uint64_t *stretches_place(uint64_t address)
{
	return tally_at(&places, address);
}

static void count_place(uint64_t now)
{
	if (is_open && counting)
		*place += now - placed_until;
	placed_until = now;
}

void stretches_on_block(uint64_t *next, uint64_t now)
{
	count_place(now);
	place = next;
}

static void open_it(uint64_t now)
{
	if (is_open)
		return;
	is_open = true;
	is_cut = false;
	opened_at = now;
}

static void close_it(uint64_t now)
{
	if (!is_open) {
		closed_again += counting;
		return;
	}
	if (counting && !is_cut)
		++*tally_at(&lengths, now - opened_at);
	is_open = false;
}

void stretches_on_write(enum write write, uint64_t now)
{
	count_place(now);
	writes[write] += counting;
	if (write == WRITE_OPENS)
		open_it(now);
	else if (write == WRITE_CLOSES)
		close_it(now);
}

static void on_marker(uint64_t now)
{
	count_place(now);
	if (is_open) {
		open_at_marker++;
		is_cut = true;
	}
}

void stretches_on_begin(uint64_t now)
{
	on_marker(now);
	counting = true;
}

void stretches_on_pause(uint64_t now)
{
	if (!counting)
		return;
	on_marker(now);
	counting = false;
}

void stretches_on_end(FILE *out, uint64_t now)
{
	stretches_on_pause(now);
	fprintf(out, "{\"type\":\"exposure\",\"region\":%u", region++);
	for (unsigned int write = 0; write < NR_WRITES; write++)
		fprintf(out, ",\"%s\":%" PRIu64, write_names[write], writes[write]);
	fprintf(out, ",\"closed_again\":%" PRIu64 ",\"open_at_marker\":%" PRIu64, closed_again,
		open_at_marker);
	fputs(",\"stretches\":", out);
	tally_flush(&lengths, out);
	fputs(",\"places\":", out);
	tally_flush(&places, out);
	fputs("}\n", out);
	memset(writes, 0, sizeof(writes));
	closed_again = open_at_marker = 0;
}
