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
#define MXCSR     (VECTOR + 24)

/* x87, SSE, AVX, opmask, both parts of ZMM. */
#define ALL_VECTORS 0xe7

	.text
	.globl	observe
	.type	observe, @function
observe:
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	%rdi, %rbx
	mov	%rsp, %rbp

	/* An area of zeros resets all registers; it also sets MXCSR. */
	movl	$0x1f80, MXCSR(%rbx)
	mov	$ALL_VECTORS, %eax
	xor	%edx, %edx
	xrstor64 VECTOR(%rbx)

	mov	STACK_TOP(%rbx), %rsp
	mov	OUT(%rbx), %rdi
	mov	LEN(%rbx), %rsi
	mov	KEY(%rbx), %rdx
	mov	START(%rbx), %rcx
	/* The function may push the caller's values, which differ for other reasons. */
	.irp	n, 8, 9, 10, 11, 12, 13, 14, 15
	xor	%r\n, %r\n
	.endr
	call	*EXPAND(%rbx)

	/* The other registers have the caller's values. */
	mov	%rax, GENERAL(%rbx)
	mov	%rcx, GENERAL + 8(%rbx)
	mov	%rdx, GENERAL + 16(%rbx)
	mov	%rsi, GENERAL + 24(%rbx)
	mov	%rdi, GENERAL + 32(%rbx)
	mov	%r8, GENERAL + 40(%rbx)
	mov	%r9, GENERAL + 48(%rbx)
	mov	%r10, GENERAL + 56(%rbx)
	mov	%r11, GENERAL + 64(%rbx)
	mov	$ALL_VECTORS, %eax
	xor	%edx, %edx
	xsave64	VECTOR(%rbx)

	mov	%rbp, %rsp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret
	.size	observe, . - observe

	.section .note.GNU-stack, "", @progbits
