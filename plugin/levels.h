/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What plugins need of QEMU, the same at every API level. */
#ifndef TEMPER_LEVELS_H
#define TEMPER_LEVELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "qemu_plugin.h"

/* Copies an instruction; returns its size, at most MAX_INSN_BYTES. */
size_t insn_bytes(struct qemu_plugin_insn *insn, uint8_t *bytes);

/* Counters of executed instructions; those on one vCPU or on several are added up. */
void counters_create(unsigned int count);
uint64_t counter_read(unsigned int index);
void counter_add_on(struct qemu_plugin_insn *insn, unsigned int index);

/*
 * Reads a general register of arm64 in a callback before an instruction, which has to be
 * registered with QEMU_PLUGIN_CB_R_REGS. Level 1 cannot, nor can anybody who asks for one
 * that there is not: false.
 */
bool register_read(unsigned int index, uint64_t *value);

/* Calls @on_block whenever QEMU translates a block, and @on_exit when it ends. */
void call_on(qemu_plugin_id_t id, void (*on_block)(struct qemu_plugin_tb *tb),
	     void (*on_exit)(void));

#endif
