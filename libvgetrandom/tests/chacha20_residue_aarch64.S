/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* void observe(struct observed_call *call) */
#define EXPAND    0
#define OUT       8
#define LEN       16
#define KEY       24
#define START     32
#define STACK_TOP 40
#define GENERAL   48
#define VECTOR    320

	.text
	.globl	observe
	.type	observe, %function
observe:
	stp	x29, x30, [sp, #-160]!
	stp	x19, x20, [sp, #16]
	stp	d8, d9, [sp, #32]
	stp	d10, d11, [sp, #48]
	stp	d12, d13, [sp, #64]
	stp	d14, d15, [sp, #80]
	stp	x21, x22, [sp, #96]
	stp	x23, x24, [sp, #112]
	stp	x25, x26, [sp, #128]
	stp	x27, x28, [sp, #144]
	mov	x19, x0
	mov	x20, sp

	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movi	v\n\().2d, #0
	.endr
	.irp	n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	movi	v\n\().2d, #0
	.endr

	ldr	x9, [x19, #STACK_TOP]
	mov	sp, x9
	ldr	x0, [x19, #OUT]
	ldr	x1, [x19, #LEN]
	ldr	x2, [x19, #KEY]
	ldr	x3, [x19, #START]
	ldr	x9, [x19, #EXPAND]
	/* The function may store the caller's values, which differ for other reasons. */
	.irp	n, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 21, 22, 23, 24, 25, 26, 27, 28
	mov	x\n, #0
	.endr
	blr	x9

	/* The other registers have the caller's values. */
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17
	str	x\n, [x19, #GENERAL + 8 * \n]
	.endr
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	str	q\n, [x19, #VECTOR + 16 * \n]
	.endr
	.irp	n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	str	q\n, [x19, #VECTOR + 16 * \n]
	.endr

	mov	sp, x20
	ldp	x19, x20, [sp, #16]
	ldp	d8, d9, [sp, #32]
	ldp	d10, d11, [sp, #48]
	ldp	d12, d13, [sp, #64]
	ldp	d14, d15, [sp, #80]
	ldp	x21, x22, [sp, #96]
	ldp	x23, x24, [sp, #112]
	ldp	x25, x26, [sp, #128]
	ldp	x27, x28, [sp, #144]
	ldp	x29, x30, [sp], #160
	ret
	.size	observe, . - observe

	.section .note.GNU-stack, "", %progbits
