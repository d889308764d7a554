/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "levels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "classes.h"

int qemu_plugin_version = TEMPER_PLUGIN_API;

static void (*translated)(struct qemu_plugin_tb *tb);
static void (*ended)(void);

size_t insn_bytes(struct qemu_plugin_insn *insn, uint8_t *bytes)
{
	size_t size = qemu_plugin_insn_size(insn);

	if (size > MAX_INSN_BYTES)
		size = MAX_INSN_BYTES;
#if TEMPER_PLUGIN_API >= 3
	return qemu_plugin_insn_data(insn, bytes, size);
#else
	memcpy(bytes, qemu_plugin_insn_data(insn), size);
	return size;
#endif
}

#if TEMPER_PLUGIN_API >= 2
static struct qemu_plugin_scoreboard *scoreboard;

static qemu_plugin_u64 counter(unsigned int index)
{
	return (qemu_plugin_u64){ .score = scoreboard, .offset = index * sizeof(uint64_t) };
}

void counters_create(unsigned int count)
{
	scoreboard = qemu_plugin_scoreboard_new(count * sizeof(uint64_t));
}

uint64_t counter_read(unsigned int index)
{
	return qemu_plugin_u64_sum(counter(index));
}

void counter_add_on(struct qemu_plugin_insn *insn, unsigned int index)
{
	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_PLUGIN_INLINE_ADD_U64,
							    counter(index), 1);
}

enum { GENERAL_REGISTERS = 31 };

static struct qemu_plugin_register *registers[GENERAL_REGISTERS];
static GByteArray *bytes_read;

/* Only a running CPU has them. */
static void find_registers(void)
{
	const GArray *all = qemu_plugin_get_registers();
	const qemu_plugin_reg_descriptor *each = (const void *)all->data;
	unsigned int index;
	char more;

	bytes_read = g_byte_array_new();
	for (unsigned int i = 0; i < all->len; i++)
		if (sscanf(each[i].name, "x%u%c", &index, &more) == 1 && index < GENERAL_REGISTERS)
			registers[index] = each[i].handle;
}

bool register_read(unsigned int index, uint64_t *value)
{
	if (!bytes_read)
		find_registers();
	if (index >= GENERAL_REGISTERS || !registers[index])
		return false;
	g_byte_array_set_size(bytes_read, 0);
	qemu_plugin_read_register(registers[index], bytes_read);
	if (bytes_read->len != sizeof(*value))
		return false;
	/* The target's order of bytes is the host's. */
	memcpy(value, bytes_read->data, sizeof(*value));
	return true;
}
#else
static uint64_t *counters;

void counters_create(unsigned int count)
{
	counters = calloc(count, sizeof(*counters));
	if (!counters)
		abort();
}

uint64_t counter_read(unsigned int index)
{
	return counters[index];
}

void counter_add_on(struct qemu_plugin_insn *insn, unsigned int index)
{
	qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64,
						   &counters[index], 1);
}

bool register_read(unsigned int index, uint64_t *value)
{
	(void)index;
	(void)value;
	return false;
}
#endif

#if TEMPER_PLUGIN_API >= 7
static void on_translate(struct qemu_plugin_tb *tb, void *userdata)
{
	(void)userdata;
	translated(tb);
}

static void on_exit_qemu(void *userdata)
{
	(void)userdata;
	ended();
}

static void register_callbacks(qemu_plugin_id_t id)
{
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate, NULL);
	qemu_plugin_register_atexit_cb(id, on_exit_qemu, NULL);
}
#else
static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	(void)id;
	translated(tb);
}

static void on_exit_qemu(qemu_plugin_id_t id, void *userdata)
{
	(void)id;
	(void)userdata;
	ended();
}

static void register_callbacks(qemu_plugin_id_t id)
{
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_atexit_cb(id, on_exit_qemu, NULL);
}
#endif

void call_on(qemu_plugin_id_t id, void (*on_block)(struct qemu_plugin_tb *tb),
	     void (*on_exit)(void))
{
	translated = on_block;
	ended = on_exit;
	register_callbacks(id);
}
