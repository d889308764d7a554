/* SPDX-License-Identifier: GPL-2.0 */
/* The interface between the module and the programs that use it. */
#ifndef KPKEYS_PROBE_H
#define KPKEYS_PROBE_H

#include <linux/ioctl.h>
#include <linux/types.h>

#include "kpkeys_try.h"

/*
 * What an attacker must know to find page tables.
 *
 * @top: physical address of the top table of the calling process
 * @kernel_top: that of the kernel's own, which may be the same
 * @trampoline_top: that of what an entry from user mode runs on under page table
 *                  isolation of arm64, and empty without; 0 if the kernel has none
 * @constant_top: 1 if these two are constant data, which nobody can write; or else 0
 * @user_top: what to add to a top table's address for the one that user mode runs on
 *            under page table isolation; 0 if the kernel makes none
 * @levels: number of page table levels: 3 to 5
 * @mm_pgd: offset in struct mm_struct of the address of its top table
 * @direct_map: address of the direct map of all physical memory, if that began at 0
 * @memory: where in the direct map there is some
 * @struct_pages: address of the array of struct page, if that began with the page at 0
 * @fixmap: an address in the fixmap
 */
struct kpkeys_probe_places {
	__u64 top;
	__u64 kernel_top;
	__u64 trampoline_top;
	__u64 constant_top;
	__u64 user_top;
	__u64 levels;
	__u64 mm_pgd;
	__u64 direct_map;
	__u64 memory;
	__u64 struct_pages;
	__u64 fixmap;
};

/*
 * Kernel memory to read, at most one page.
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

/*
 * A word of kernel memory to change and to restore.
 *
 * @address: aligned
 * @end: how that ended
 */
struct kpkeys_probe_write {
	__u64 address;
	struct kpkeys_try end;
};

/*
 * A word of kernel memory to change for good.
 *
 * @address: aligned
 * @value: what it is to be
 */
struct kpkeys_probe_store {
	__u64 address;
	__u64 value;
};

/*
 * A page of the attacker's that the kernel frees as if it had been a page table.
 *
 * @how: the address of kpkeys_free_pages(), or 0 if the kernel has none
 * @address: out: where the page is in the direct map
 */
struct kpkeys_probe_freed {
	__u64 how;
	__u64 address;
};

/* Sizes of the areas and blocks below. */
#define KPKEYS_PROBE_AREA_SIZE  (64UL << 20)
#define KPKEYS_PROBE_BLOCK_SIZE (2UL << 20)
#define KPKEYS_PROBE_FAR_SIZE   (8UL << 30)

#define KPKEYS_PROBE_PLACES _IOR('P', 0, struct kpkeys_probe_places)
#define KPKEYS_PROBE_READ   _IOW('P', 1, struct kpkeys_probe_read)
#define KPKEYS_PROBE_WRITE  _IOWR('P', 2, struct kpkeys_probe_write)
/*
 * Make a new area of pages in vmalloc space, in the caller or in a kernel thread, a new
 * block of kernel memory, or a mapping of a far end of the physical address space; the
 * argument receives its address. An open file has at most one of each, until it is closed.
 */
#define KPKEYS_PROBE_AREA           _IOR('P', 3, __u64)
#define KPKEYS_PROBE_AREA_BY_THREAD _IOR('P', 4, __u64)
#define KPKEYS_PROBE_BLOCK          _IOR('P', 5, __u64)
#define KPKEYS_PROBE_FAR            _IOR('P', 9, __u64)
/* Make the kernel map the first page of the block differently from the rest. */
#define KPKEYS_PROBE_SPLIT _IO('P', 6)
/* Write to kernel memory, unless that faults. */
#define KPKEYS_PROBE_STORE _IOW('P', 7, struct kpkeys_probe_store)
/* In: an address of the caller's. Out: that of the flags of its mapping, in the kernel. */
#define KPKEYS_PROBE_VMA_FLAGS _IOWR('P', 8, __u64)
/* Make a page, and have the kernel free it as it frees its tables. */
#define KPKEYS_PROBE_FREED _IOWR('P', 10, struct kpkeys_probe_freed)

#endif
