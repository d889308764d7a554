// SPDX-License-Identifier: GPL-2.0
/*
 * Description: checks whether the running kernel can be interrupted while the stack and
 * the shadow call stack are not those of one task.
 *
 * It follows the code of the two functions that change both, as the kernel has patched
 * it: which of them belongs to whom after each instruction, and whether everything is
 * masked there. Nothing is injected, since boots that are priced have no pseudo-NMIs.
 *
 * Usage: in_force
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "code.h"
#include "scs_probe.h"
#include "symbol.h"

enum { MOST_INSTRUCTIONS = 256 };

struct function {
	uint32_t code[MOST_INSTRUCTIONS];
	int count;
};

struct found {
	int instructions;
	int open;
	int scs_writes;
};

static struct function function(int probe, const char *name)
{
	struct scs_probe_word word = { .address = symbol(name) };
	struct function read = { 0 };

	while (read.count < MOST_INSTRUCTIONS) {
		if (ioctl(probe, SCS_PROBE_READ, &word)) {
			perror(name);
			exit(1);
		}
		read.code[read.count++] = word.word;
		if (is_return(word.word))
			return read;
		word.address += sizeof(word.word);
	}
	fprintf(stderr, "%s does not return\n", name);
	exit(1);
}

/* How often the SCS pointer is written from an instruction on to the next call. */
static int writes_left(const struct function *function, int from)
{
	int writes = 0;

	for (int i = from; i < function->count && !is_call(function->code[i]); i++)
		writes += writes_scs(function->code[i]);
	return writes;
}

/*
 * A handler that comes in saves the SCS pointer for current if SP is on current's
 * stack; so both must be current's then. If it is not on it, any SCS will do; but a
 * register that is on its way to being one will not.
 */
static void follow(const struct function *function, bool to_task, struct found *found)
{
	bool masked = false, stack = false, scs = false, current = false, called = false;
	bool unfinished = false;

	for (int i = 0; i < function->count; i++) {
		uint32_t word = function->code[i];

		if (masks_all(word))
			masked = true;
		else if (restores_mask(word))
			masked = false;
		else if (is_call(word))
			called = true;
		else if (makes_current(word))
			current = to_task;
		else if (moves_stack(word))
			stack = !called;
		if (writes_scs(word)) {
			found->scs_writes++;
			scs = !called;
			unfinished = writes_left(function, i + 1);
		}
		found->open += !masked && (unfinished || (stack == current && scs != current));
		found->instructions++;
	}
}

int main(void)
{
	int probe = open("/dev/scs_probe", O_RDONLY | O_CLOEXEC);
	struct function to_task, to_irq;
	struct found found = { 0 };

	if (probe < 0) {
		perror("/dev/scs_probe");
		return 77;
	}
	to_task = function(probe, "cpu_switch_to");
	to_irq = function(probe, "call_on_irq_stack");
	follow(&to_task, true, &found);
	follow(&to_irq, false, &found);
	printf("{\"type\":\"in_force\",\"feature\":\"scs-switch\",\"on\":%s,"
	       "\"evidence\":{\"instructions\":%d,\"open\":%d,\"scs_writes\":%d}}\n",
	       found.scs_writes && !found.open ? "true" : "false", found.instructions, found.open,
	       found.scs_writes);
	return 0;
}
