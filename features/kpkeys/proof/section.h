/* SPDX-License-Identifier: GPL-2.0 */
/* A section that may write page tables, as loops over entries have. */
#ifndef SECTION_H
#define SECTION_H

#include <linux/pgtable.h>

/* A kernel that lets anybody write has no sections. */
#ifdef CONFIG_KPKEYS_HARDENED_PGTABLES
static inline void enter_section(void)
{
	kpkeys_pgtables_raise();
}

static inline void leave_section(void)
{
	kpkeys_pgtables_lower();
}
#else
static inline void enter_section(void)
{
}

static inline void leave_section(void)
{
}
#endif

#endif
