/* SPDX-License-Identifier: GPL-2.0 */
/* What the CPU says of the last fault of the kernel, for modules. */
#ifndef FAULT_H
#define FAULT_H

#ifdef CONFIG_X86
#include <asm/special_insns.h>
#else
#include <asm/esr.h>
#include <asm/sysreg.h>
#endif

#include "kpkeys_try.h"

#ifdef CONFIG_X86
static inline u64 fault_address(void)
{
	return native_read_cr2();
}

static inline void set_fault_address(u64 address)
{
	native_write_cr2(address);
}

static inline s64 fault_code(u64 error_code)
{
	return error_code;
}
#else
static inline u64 fault_address(void)
{
	return read_sysreg(far_el1);
}

static inline void set_fault_address(u64 address)
{
	write_sysreg(address, far_el1);
}

/* What error code x86-64 would have for a syndrome: kpkeys_try.h */
static inline s64 fault_code(u64 esr)
{
	s64 code = 0;

	if (ESR_ELx_EC(esr) != ESR_ELx_EC_DABT_CUR)
		return KPKEYS_OTHER;
	if (esr_fsc_is_permission_fault(esr))
		code |= KPKEYS_PRESENT;
	if (esr & ESR_ELx_WNR)
		code |= KPKEYS_WRITE;
	if (ESR_ELx_ISS2(esr) & ESR_ELx_Overlay)
		code |= KPKEYS_BY_KEY;
	return code;
}
#endif

#endif
