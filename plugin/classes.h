/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells which class an instruction belongs to; one file per architecture. */
#ifndef TEMPER_CLASSES_H
#define TEMPER_CLASSES_H

#include <stddef.h>
#include <stdint.h>

enum { MAX_CLASSES = 32, MAX_INSN_BYTES = 16 };

enum { ZERO_REGISTER = 31, NO_REGISTER };

enum marker { MARKER_NONE, MARKER_BEGIN, MARKER_PAUSE, MARKER_END };

/* Names of the classes; the first is for instructions of no other. NULL ends the list. */
extern const char *const class_names[];

/* Index into class_names. */
unsigned int insn_class(const uint8_t *bytes, size_t size);

/* The class of those that write the register which plugin/exposure.c watches. */
extern const unsigned int watched_class;

/*
 * The general register whose value an instruction of this class writes there. On x86-64,
 * where it takes three of them, NO_REGISTER, which nobody can read.
 */
unsigned int written_from(const uint8_t *bytes);

enum marker insn_marker(const uint8_t *bytes, size_t size);

#endif
