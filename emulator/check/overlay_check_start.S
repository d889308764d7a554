/* SPDX-License-Identifier: GPL-2.0 */
/* Start and exceptions of overlay_check.c, and how it accesses memory. */
#include "overlay_check.h"

#define TCR2_EL1 S3_0_C2_C0_3
#define POR_EL0	 S3_3_C10_C2_4
#define POR_EL1	 S3_0_C10_C2_4

/* 4 KiB pages, 39 bits of address below, none above, 36 bits out. */
#define TCR ((25 << 0) | (1 << 23) | (1 << 32))
/* MMU and caches; exceptions leave PAN as it is (SPAN). */
#define SCTLR ((1 << 0) | (1 << 2) | (1 << 12) | (1 << 23))
/* Attribute 0: write-back memory; 1: a device. */
#define MAIR 0xff

/* PSCI's SYSTEM_OFF. */
#define SYSTEM_OFF 0x84000008

#define CLASS_SVC 0x15

	.arch armv8.2-a
	.section .text.start, "ax"
	.global _start
_start:
	ldr	x0, =stack_end
	mov	sp, x0
	ldr	x0, =vectors
	msr	vbar_el1, x0
	isb
	bl	check
	ldr	w0, =SYSTEM_OFF
	hvc	#0
1:	wfi
	b	1b

	.text
	.global enable_mmu
enable_mmu:
	ldr	x1, =MAIR
	msr	mair_el1, x1
	ldr	x1, =TCR
	msr	tcr_el1, x1
	msr	ttbr0_el1, x0
	mov	x1, #-1
	msr	POR_EL0, x1
	msr	POR_EL1, x1
	dsb	ish
	tlbi	vmalle1
	dsb	ish
	isb
	mrs	x1, sctlr_el1
	ldr	x2, =SCTLR
	orr	x1, x1, x2
	msr	sctlr_el1, x1
	isb
	ret

	.global write_por_el0
write_por_el0:
	msr	POR_EL0, x0
	ret

	.global write_por_el1
write_por_el1:
	msr	POR_EL1, x0
	ret

	.global write_tcr2
write_tcr2:
	msr	TCR2_EL1, x0
	ret

/* An exception jumps to `leave` with x0 as its syndrome; so the stack is kept. */
	.global attempt
attempt:
	stp	x29, x30, [sp, #-16]!
	ldr	x3, =kept_stack
	mov	x4, sp
	str	x4, [x3]
	cbz	w2, 1f
	msr	pan, #1
1:	adr	x3, ways
	add	x3, x3, x0, lsl #4
	br	x3

	.balign	16
ways:
	ldr	x4, [x1]
	b	worked
	.balign	16
	str	xzr, [x1]
	b	worked
	.balign	16
	blr	x1
	b	worked
	.balign	16
	ldtr	x4, [x1]
	b	worked
	.balign	16
	sttr	xzr, [x1]
	b	worked
	.balign	16
	ldr	x2, =user_load
	b	to_user
	.balign	16
	ldr	x2, =user_store
	b	to_user
	.balign	16
	mov	x2, x1
	b	to_user
	.balign	16
	svc	#0

to_user:
	msr	elr_el1, x2
	msr	spsr_el1, xzr
	eret

worked:
	mov	x0, #0
leave:
	msr	pan, #0
	ldr	x3, =kept_stack
	ldr	x4, [x3]
	mov	sp, x4
	ldp	x29, x30, [sp], #16
	ret

/* The call is HANDLER_LOAD's; if its load faults, that comes here, too. */
same_level:
	mrs	x0, esr_el1
	lsr	x3, x0, #26
	and	x3, x3, #0x3f
	cmp	x3, #CLASS_SVC
	b.ne	leave
	ldr	x4, [x1]
	b	worked

lower_level:
	mrs	x0, esr_el1
	lsr	x3, x0, #26
	and	x3, x3, #0x3f
	cmp	x3, #CLASS_SVC
	b.eq	worked
	b	leave

	.balign	2048
vectors:
	.org	vectors + 0x200
	b	same_level
	.org	vectors + 0x400
	b	lower_level
	.org	vectors + 0x800

	.section .user, "ax"
user_load:
	ldr	x4, [x1]
	svc	#0
user_store:
	str	xzr, [x1]
	svc	#0

	.section .tried, "aw"
	.balign	4096
	.global tried_page
tried_page:
	.org	tried_page + RETURN
	ret
	.org	tried_page + CALL
	svc	#0
	.org	tried_page + 4096

	.bss
	.balign	16
kept_stack:
	.space	16
	.space	16384
stack_end:
