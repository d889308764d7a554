/* SPDX-License-Identifier: GPL-2.0 */
/* What overlay_check_start.S has for overlay_check.c. */
#ifndef OVERLAY_CHECK_H
#define OVERLAY_CHECK_H

/* How attempt() accesses. */
#define PRIVILEGED_LOAD    0
#define PRIVILEGED_STORE   1
#define PRIVILEGED_FETCH   2
#define UNPRIVILEGED_LOAD  3
#define UNPRIVILEGED_STORE 4
#define USER_LOAD          5
#define USER_STORE         6
#define USER_FETCH         7
#define HANDLER_LOAD       8

/* Where the tried page has what. */
#define RETURN 0
#define CALL   8
#define DATA   64

/* Which 2 MiB of RAM hold what runs at EL0. */
#define USER_BLOCK 2

#ifndef __ASSEMBLER__
#include <stdbool.h>
#include <stdint.h>

/* Translate addresses from now on. */
void enable_mmu(uint64_t level1);

void write_por_el0(uint64_t value);
void write_por_el1(uint64_t value);
void write_tcr2(uint64_t value);

/* Access an address in one of the ways above; return the syndrome, 0 if it worked. */
uint64_t attempt(uint64_t how, uint64_t address, bool pan);
#endif

#endif
