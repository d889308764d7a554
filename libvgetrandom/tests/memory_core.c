// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Description: the states and the batch's buffers are on pages that are in no core dump, are never
 * swapped, and are wiped in a child.
 */
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "draws.h"
#include "droppable.h"
#include "thread.h"

enum {
	MAPPINGS_MAX = 8,
};

static bool all_zero(const struct slot *slot)
{
	const volatile uint64_t *words = slot->state;

	for (size_t i = 0; i < SLOT_PAGE_SIZE / sizeof(*words); i++) {
		if (words[i])
			return false;
	}
	return true;
}

static const struct mapping *mapping_of(const char *address, const struct mapping *mappings,
					size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (address >= mappings[i].start && address < mappings[i].start + mappings[i].size)
			return &mappings[i];
	}
	return NULL;
}

static void check_flags(const struct slot *slot)
{
	struct mapping mappings[MAPPINGS_MAX];
	size_t count = droppable_mappings(mappings, MAPPINGS_MAX);
	const struct mapping *mapping;

	check(count <= MAPPINGS_MAX, "%zu mappings", count);
	mapping = mapping_of(slot->state, mappings, count);
	check(mapping, "a state is not on droppable memory");
	check(strstr(mapping->flags, " dd "), "core dumps hold it:%s", mapping->flags);
	check(strstr(mapping->flags, " wf "), "children get it:%s", mapping->flags);
	check((char *)slot->buffer > (char *)slot->state &&
		      (char *)slot->buffer < (char *)slot->state + SLOT_PAGE_SIZE,
	      "the buffer is elsewhere");
}

/* The child checks before it draws. */
static void check_child(const struct slot *slot)
{
	pid_t child = fork();
	int status;

	check(child >= 0, "fork");
	if (child == 0)
		_exit(all_zero(slot) ? EXIT_SUCCESS : EXIT_FAILURE);
	check(waitpid(child, &status, 0) == child && status == 0, "a child finds the state");
}

int main(void)
{
	uint64_t values[PATHS];

	draw_all_paths(values);
	if (vgetrandom_status() != VGETRANDOM_VDSO)
		cannot_run("%s", vgetrandom_status_text(vgetrandom_status()));
	check(vgetrandom_prewarm() == 0, "prewarm");
	for (const struct slot *slot = vgr_thread.owned; slot; slot = slot->next) {
		check(!all_zero(slot) && slot->batch_left, "not prewarmed");
		check_flags(slot);
		check_child(slot);
	}
	return 0;
}
