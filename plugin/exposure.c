/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU TCG plugin: measures for how many instructions a register of the CPU stays open,
 * and which code runs meanwhile, and writes a record per marked region. It does not
 * look from a pause marker to the next begin marker.
 *
 * A file says what each write does, in lines "NUMBER WRITE" with one of the words below.
 * On arm64 the hexadecimal number is the value written. At API level 1 a plugin cannot read
 * registers, and on x86-64 packaged QEMUs have that: there it is the instruction's address.
 * A write that is not in the file is "untold" and may have been any.
 *
 * Arguments: out=FILE, and writes=FILE, by address, or values=FILE
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "classes.h"
#include "levels.h"
#include "stretches.h"
#include "tally.h"

enum { EXECUTED, NR_COUNTERS };

static const char *const words[NR_WRITES] = {
	[WRITE_OPENS] = "opens",
	[WRITE_CLOSES] = "closes",
	[WRITE_OTHER] = "other",
};

/* Number of a write -> what it does. */
static struct tally known_writes;
/* The number is the value written; if not, the address of the instruction. */
static bool by_value;
/* Counted here and not inline, so that each write sees itself counted. */
static uint64_t executed_writes;
static FILE *out;

static uint64_t executed(void)
{
	return counter_read(EXECUTED) + executed_writes;
}

static enum write write_known(uint64_t number)
{
	const uint64_t *found = tally_find(&known_writes, number);

	return found ? *found : WRITE_UNTOLD;
}

static void on_write_at(unsigned int vcpu, void *write)
{
	(void)vcpu;
	executed_writes++;
	stretches_on_write((uintptr_t)write, executed());
}

static void on_write_from(unsigned int vcpu, void *source)
{
	unsigned int index = (uintptr_t)source;
	uint64_t value = 0;

	(void)vcpu;
	executed_writes++;
	if (index == ZERO_REGISTER || register_read(index, &value))
		stretches_on_write(write_known(value), executed());
	else
		stretches_on_write(WRITE_UNTOLD, executed());
}

static void on_begin(unsigned int vcpu, void *userdata)
{
	(void)vcpu;
	(void)userdata;
	stretches_on_begin(executed());
}

static void on_pause(unsigned int vcpu, void *userdata)
{
	(void)vcpu;
	(void)userdata;
	stretches_on_pause(executed());
}

static void on_end(unsigned int vcpu, void *userdata)
{
	(void)vcpu;
	(void)userdata;
	stretches_on_end(out, executed());
}

static void on_block_begin(unsigned int vcpu, void *place)
{
	(void)vcpu;
	stretches_on_block(place, executed());
}

static void call_at(struct qemu_plugin_insn *insn, void (*callback)(unsigned int vcpu, void *),
		    uintptr_t userdata)
{
	qemu_plugin_register_vcpu_insn_exec_cb(insn, callback, QEMU_PLUGIN_CB_NO_REGS,
					       (void *)userdata);
}

static void call_at_write(struct qemu_plugin_insn *insn, const uint8_t *bytes)
{
	if (by_value)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_write_from, QEMU_PLUGIN_CB_R_REGS,
						       (void *)(uintptr_t)written_from(bytes));
	else
		call_at(insn, on_write_at, write_known(qemu_plugin_insn_vaddr(insn)));
}

static void on_insn(struct qemu_plugin_insn *insn)
{
	uint8_t bytes[MAX_INSN_BYTES];
	size_t size = insn_bytes(insn, bytes);

	switch (insn_marker(bytes, size)) {
	case MARKER_BEGIN:
		call_at(insn, on_begin, 0);
		break;
	case MARKER_PAUSE:
		call_at(insn, on_pause, 0);
		break;
	case MARKER_END:
		call_at(insn, on_end, 0);
		break;
	case MARKER_NONE:
		if (insn_class(bytes, size) == watched_class)
			call_at_write(insn, bytes);
		else
			counter_add_on(insn, EXECUTED);
		break;
	}
}

/* All of user mode is one place. */
static uint64_t *place_of(const struct qemu_plugin_tb *tb)
{
	uint64_t address = qemu_plugin_tb_vaddr(tb);

	return stretches_place(address >> 63 ? address : 0);
}

static void on_block(struct qemu_plugin_tb *tb)
{
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block_begin, QEMU_PLUGIN_CB_NO_REGS,
					     place_of(tb));
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++)
		on_insn(qemu_plugin_tb_get_insn(tb, i));
}

static void on_exit_qemu(void)
{
	fclose(out);
}

static enum write write_named(const char *word)
{
	for (enum write write = 0; write < NR_WRITES; write++)
		if (words[write] && !strcmp(word, words[write]))
			return write;
	return WRITE_UNTOLD;
}

/* Returns whether all lines make sense. */
static bool read_writes(const char *path)
{
	FILE *file = fopen(path, "r");
	uint64_t number;
	char word[8];
	int found;

	if (!file)
		return false;
	while ((found = fscanf(file, "%" SCNx64 " %7s", &number, word)) == 2) {
		enum write write = write_named(word);

		if (write == WRITE_UNTOLD)
			break;
		*tally_at(&known_writes, number) = write;
	}
	fclose(file);
	return found == EOF;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	const char *path;

	(void)info;
	by_value = argc == 2 && !strncmp(argv[1], "values=", 7);
	if (argc != 2 || strncmp(argv[0], "out=", 4) ||
	    (!by_value && strncmp(argv[1], "writes=", 7))) {
		fputs("exposure: needs out=FILE, and writes=FILE or values=FILE\n", stderr);
		return -1;
	}
	path = argv[1] + 7;
	if (!read_writes(path)) {
		fprintf(stderr, "exposure: cannot use %s\n", path);
		return -1;
	}
	out = fopen(argv[0] + 4, "w");
	if (!out) {
		perror(argv[0] + 4);
		return -1;
	}
	counters_create(NR_COUNTERS);
	call_on(id, on_block, on_exit_qemu);
	return 0;
}
