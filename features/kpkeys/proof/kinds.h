/* SPDX-License-Identifier: GPL-2.0 */
/* What writes and reuse write to; the params of their proofs use these numbers. */
#ifndef KINDS_H
#define KINDS_H

enum kind {
	/* Tables of a process, in the order of enum level */
	KIND_USER_PTE,
	KIND_USER_PMD,
	KIND_USER_PUD,
	KIND_USER_P4D,
	KIND_USER_PGD,
	/* The second of a pair of top tables */
	KIND_PTI_USER_PGD,
	/* Tables of the kernel */
	KIND_KERNEL_PGD,
	KIND_KERNEL_PUD,
	KIND_KERNEL_PMD,
	KIND_VMALLOC_PTE,
	KIND_VMEMMAP,
	KIND_FIXMAP,
	KIND_EARLY,
	KIND_IMAGE_ALIAS,
	KIND_BOOT,
	/* Tables by their origin */
	KIND_SPLIT,
	KIND_KERNEL_SPLIT,
	KIND_FORK,
	KIND_KTHREAD,
	KIND_OTHER_CPU,
	KIND_PRESSURE,
	KIND_BECOMES_TABLE,
	/* No longer a table: must be writable, so there is no proof of that name */
	KIND_FREED,
	/* What decides where tables go and who may write to them */
	KIND_RECORDS,
	/* Tables made while the attacker forges those records, or on a CPU that came back */
	KIND_FORGED_POOL,
	KIND_REPLUGGED,
	/* Entries that map 1 GiB each */
	KIND_GIGABYTE,
	/* Where a CPU that comes up finds its records */
	KIND_OFFSETS,
	/* Tables made after the kernel freed the attacker's page as one */
	KIND_FORGED_FREE,
};

#endif
