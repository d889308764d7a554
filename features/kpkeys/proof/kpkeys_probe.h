/* SPDX-License-Identifier: GPL-2.0 */
/* What the module and the programs that ask it agree on. */
#ifndef KPKEYS_PROBE_H
#define KPKEYS_PROBE_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * What an attacker has to know to find page tables.
 *
 * @top: physical address of the top table of the calling process
 * @user_top: what to add to a top table's address for the one that user mode runs on
 *            under page table isolation; 0 if the kernel makes none
 * @levels: of page tables: 4 or 5
 * @mm_pgd: where a struct mm_struct has the address of its top table
 * @direct_map: where the kernel has all memory, by physical address
 * @struct_pages: where it has what it knows about each page
 * @fixmap: an address that it maps at build time
 */
struct kpkeys_probe_places {
	__u64 top;
	__u64 user_top;
	__u64 levels;
	__u64 mm_pgd;
	__u64 direct_map;
	__u64 struct_pages;
	__u64 fixmap;
};

/*
 * Kernel memory to read: a page at most.
 *
 * @address: its address in the kernel
 * @to: where the caller wants it
 * @size: in bytes
 */
struct kpkeys_probe_read {
	__u64 address;
	__u64 to;
	__u64 size;
};

/* Of the areas and blocks below. */
#define KPKEYS_PROBE_AREA_SIZE  (64UL << 20)
#define KPKEYS_PROBE_BLOCK_SIZE (2UL << 20)

#define KPKEYS_PROBE_PLACES _IOR('P', 0, struct kpkeys_probe_places)
#define KPKEYS_PROBE_READ   _IOW('P', 1, struct kpkeys_probe_read)
/* Write to an aligned word of kernel memory and undo it: 1 if it landed, 0 if it faulted. */
#define KPKEYS_PROBE_WRITE _IOW('P', 2, __u64)
/*
 * A new area of pages in vmalloc space, made by the caller or by a kernel thread, or a
 * new block of kernel memory; its address. A file has one of each, until it is closed.
 */
#define KPKEYS_PROBE_AREA           _IOR('P', 3, __u64)
#define KPKEYS_PROBE_AREA_BY_THREAD _IOR('P', 4, __u64)
#define KPKEYS_PROBE_BLOCK          _IOR('P', 5, __u64)
/* Have the kernel map the first page of the block otherwise than the rest. */
#define KPKEYS_PROBE_SPLIT _IO('P', 6)

#endif
