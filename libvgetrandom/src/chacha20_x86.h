/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Code that the cores for x86-64 share. */
#ifndef VGR_CHACHA20_X86_H
#define VGR_CHACHA20_X86_H

#include "chacha20_vec.h"

static always_inline uintptr_t stack_pointer(void *frame)
{
	uintptr_t sp;

	__asm__ volatile("mov %%rsp, %0" : "=r"(sp) : "r"(frame));
	return sp;
}

/* Functions need not preserve these; the others have their callers' values again. */
static always_inline void wipe_general_registers(void)
{
	__asm__ volatile("xor %%eax, %%eax\n\t"
			 "xor %%ecx, %%ecx\n\t"
			 "xor %%edx, %%edx\n\t"
			 "xor %%esi, %%esi\n\t"
			 "xor %%edi, %%edi\n\t"
			 "xor %%r8d, %%r8d\n\t"
			 "xor %%r9d, %%r9d\n\t"
			 "xor %%r10d, %%r10d\n\t"
			 "xor %%r11d, %%r11d"
			 :
			 :
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc");
}

#endif
