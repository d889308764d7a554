/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a register stays open, in instructions, and what runs meanwhile. It is told
 * what one CPU does, and knows nothing of QEMU. @now is the number of instructions that
 * were executed so far.
 */
#ifndef TEMPER_STRETCHES_H
#define TEMPER_STRETCHES_H

#include <stdint.h>
#include <stdio.h>

/* What a write of a register does to ours; it may be a write of another register. */
enum write { WRITE_UNTOLD, WRITE_OPENS, WRITE_CLOSES, WRITE_OTHER, NR_WRITES };

/* Where the instructions are counted that run from @address on while it is open. */
uint64_t *stretches_place(uint64_t address);

/* From @now on, instructions belong to @place. */
void stretches_on_block(uint64_t *place, uint64_t now);

/* @now includes the write itself, which still runs with the rights from before it. */
void stretches_on_write(enum write write, uint64_t now);

/* The markers; stretches_on_end() writes the region's record. */
void stretches_on_begin(uint64_t now);
void stretches_on_pause(uint64_t now);
void stretches_on_end(FILE *out, uint64_t now);

#endif
