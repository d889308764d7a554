/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Code that the cores for x86-64 share. */
#ifndef VGR_CHACHA20_X86_H
#define VGR_CHACHA20_X86_H

#include "chacha20_vec.h"

#define LOW_VECTORS                                                                                \
	"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",   \
		"xmm11", "xmm12", "xmm13", "xmm14", "xmm15"

static always_inline uintptr_t stack_pointer(void *frame)
{
	uintptr_t sp;

	__asm__ volatile("mov %%rsp, %0" : "=r"(sp) : "r"(frame));
	return sp;
}

#if defined(__AVX__)
static always_inline void wipe_low_vectors(void)
{
	__asm__ volatile("vzeroall" : : : LOW_VECTORS);
}
#else
static always_inline void wipe_low_vectors(void)
{
	__asm__ volatile("pxor %%xmm0, %%xmm0\n\t"
			 "pxor %%xmm1, %%xmm1\n\t"
			 "pxor %%xmm2, %%xmm2\n\t"
			 "pxor %%xmm3, %%xmm3\n\t"
			 "pxor %%xmm4, %%xmm4\n\t"
			 "pxor %%xmm5, %%xmm5\n\t"
			 "pxor %%xmm6, %%xmm6\n\t"
			 "pxor %%xmm7, %%xmm7\n\t"
			 "pxor %%xmm8, %%xmm8\n\t"
			 "pxor %%xmm9, %%xmm9\n\t"
			 "pxor %%xmm10, %%xmm10\n\t"
			 "pxor %%xmm11, %%xmm11\n\t"
			 "pxor %%xmm12, %%xmm12\n\t"
			 "pxor %%xmm13, %%xmm13\n\t"
			 "pxor %%xmm14, %%xmm14\n\t"
			 "pxor %%xmm15, %%xmm15"
			 :
			 :
			 : LOW_VECTORS);
}
#endif

/* vzeroall does not clear these. Any core has them if its user's flags allow AVX-512. */
#if defined(__AVX512F__)
static always_inline void wipe_high_vectors(void)
{
	__asm__ volatile("vpxord %%zmm16, %%zmm16, %%zmm16\n\t"
			 "vpxord %%zmm17, %%zmm17, %%zmm17\n\t"
			 "vpxord %%zmm18, %%zmm18, %%zmm18\n\t"
			 "vpxord %%zmm19, %%zmm19, %%zmm19\n\t"
			 "vpxord %%zmm20, %%zmm20, %%zmm20\n\t"
			 "vpxord %%zmm21, %%zmm21, %%zmm21\n\t"
			 "vpxord %%zmm22, %%zmm22, %%zmm22\n\t"
			 "vpxord %%zmm23, %%zmm23, %%zmm23\n\t"
			 "vpxord %%zmm24, %%zmm24, %%zmm24\n\t"
			 "vpxord %%zmm25, %%zmm25, %%zmm25\n\t"
			 "vpxord %%zmm26, %%zmm26, %%zmm26\n\t"
			 "vpxord %%zmm27, %%zmm27, %%zmm27\n\t"
			 "vpxord %%zmm28, %%zmm28, %%zmm28\n\t"
			 "vpxord %%zmm29, %%zmm29, %%zmm29\n\t"
			 "vpxord %%zmm30, %%zmm30, %%zmm30\n\t"
			 "vpxord %%zmm31, %%zmm31, %%zmm31"
			 :
			 :
			 : "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23",
			   "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31");
}
#else
static always_inline void wipe_high_vectors(void)
{
}
#endif

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

static always_inline void wipe_registers(void)
{
	wipe_low_vectors();
	wipe_high_vectors();
	wipe_general_registers();
}

#endif
