// SPDX-License-Identifier: GPL-2.0
/*
 * Has the kernel write to a page table where it counts what a process maps: an attacker
 * who can write one word says that a page is part of a larger one, which would lie in a
 * page table. Then fork counts its reference there.
 *
 * It works on any kernel. On x86-64 a count that faults is skipped, so that the attacker
 * lives on. On arm64 whoever oopses ends, and here amid a fork, whose locks are never free
 * again: nobody may wait for the attacker's end.
 */
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/kdebug.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/page-flags.h>
#include <linux/pgtable.h>
#include <linux/preempt.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "entry.h"
#include "fault.h"
#include "kpkeys_count.h"
#include "section.h"

/* What the kernel reads of a descriptor reaches this many entries back from its count. */
enum { ENTRIES_BEFORE = 7 };

/* Takes part of the descriptor for tail pages: bit 0 says that it is one. */
enum { TAIL = 1 };

static DEFINE_MUTEX(attack_lock);

/* The page whose descriptor lies, and its truth. */
static struct page *page;
static unsigned long head;

/*
 * The last page of an area, for the entry behind it: no area begins there, so it is 0.
 * The count of mappings is in the last entry of the area.
 */
static void *area;
static u64 *target;
static u64 last_of_area;

static struct task_struct *attacker;

/* How the first of its counts ended, and whether it was the attacker's end, too. */
static struct kpkeys_try end;
static bool killed;

/* The folio whose count of references is the target. */
static struct folio *forged_folio(void)
{
	return (void *)target - offsetof(struct folio, _refcount);
}

#ifdef CONFIG_X86
/* The size of an instruction that adds to memory with the bus locked, or 0. */
static size_t count_size(const u8 *insn)
{
	const u8 *at = insn;
	bool immediate;
	u8 modrm;

	if (*at++ != 0xf0)
		return 0;
	if ((*at & 0xf0) == 0x40)
		at++;
	immediate = *at == 0x83;
	if (!immediate && *at != 0xff)
		return 0;
	modrm = at[1];
	/* With an offset of a byte, and perhaps an index */
	if (modrm >> 6 != 1)
		return 0;
	return at - insn + 3 + ((modrm & 7) == 4) + immediate;
}

static bool skip_count(struct pt_regs *regs)
{
	size_t size = count_size((const u8 *)regs->ip);

	regs->ip += size;
	return size;
}
#else
static bool skip_count(struct pt_regs *regs)
{
	return false;
}
#endif

static int on_die(struct notifier_block *block, unsigned long event, void *data)
{
	struct die_args *args = data;

	if (event != DIE_OOPS || current != READ_ONCE(attacker))
		return NOTIFY_DONE;
	if (end.code == KPKEYS_NO_FAULT) {
		end.code = fault_code(args->err);
		end.astray = fault_address() - (unsigned long)target;
	}
	if (skip_count(args->regs))
		return NOTIFY_STOP;
	/* Pairs with was_killed(). */
	smp_store_release(&killed, true);
	return NOTIFY_DONE;
}

static struct notifier_block die_notifier = { .notifier_call = on_die };

/* It must not pass for a large folio or an anonymous one: these are counted elsewhere. */
static bool passes_for_file(const struct folio *folio)
{
	return !(READ_ONCE(folio->flags) & BIT(PG_head)) &&
	       !((unsigned long)READ_ONCE(folio->mapping) & PAGE_MAPPING_FLAGS);
}

static long aim(void)
{
	if (attacker)
		return -EBUSY;
	if (*target || !passes_for_file(forged_folio()))
		return -EDOM;
	last_of_area = target[-1];
	head = READ_ONCE(page->compound_head);
	end = (struct kpkeys_try){ .code = KPKEYS_NO_FAULT };
	WRITE_ONCE(attacker, current);
	WRITE_ONCE(page->compound_head, (unsigned long)forged_folio() | TAIL);
	return 0;
}

static long restore(struct kpkeys_try __user *user)
{
	if (!attacker)
		return -EINVAL;
	WRITE_ONCE(page->compound_head, head);
	end.landed = READ_ONCE(*target) || READ_ONCE(target[-1]) != last_of_area;
	/* The kernel may have let a count land that it keeps others from undoing. */
	if (end.landed) {
		preempt_disable();
		enter_section();
		WRITE_ONCE(*target, 0);
		WRITE_ONCE(target[-1], last_of_area);
		leave_section();
		preempt_enable();
	}
	/* The child has the page, and will count it off. */
	page_ref_inc(page);
	atomic_inc(&page->_mapcount);
	WRITE_ONCE(attacker, NULL);
	/* Or the next attacker would pass for dead before it aims. */
	killed = false;
	return copy_to_user(user, &end, sizeof(end)) ? -EFAULT : 0;
}

static long was_killed(void)
{
	/* Pairs with on_die(). */
	return smp_load_acquire(&killed);
}

static long kpkeys_count_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	guard(mutex)(&attack_lock);
	switch (cmd) {
	case KPKEYS_COUNT_AIM:
		return aim();
	case KPKEYS_COUNT_KILLED:
		return was_killed();
	case KPKEYS_COUNT_RESTORE:
		return restore((struct kpkeys_try __user *)arg);
	default:
		return -ENOTTY;
	}
}

static int kpkeys_count_mmap(struct file *file, struct vm_area_struct *vma)
{
	return vm_insert_page(vma, vma->vm_start, page);
}

static const struct file_operations kpkeys_count_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = kpkeys_count_ioctl,
	.mmap = kpkeys_count_mmap,
};

static struct miscdevice kpkeys_count_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kpkeys_count",
	.fops = &kpkeys_count_fops,
	.mode = 0600,
};

/* The entry behind those of an area */
static u64 *entry_behind(void *pages)
{
	return entry_of(pages + (ENTRIES_BEFORE - 1) * PAGE_SIZE) + 1;
}

/* If the first ends with a table, the next one is in another. */
static void *make_area(void)
{
	void *first = vmalloc(ENTRIES_BEFORE * PAGE_SIZE), *next;

	if (!first || offset_in_page(entry_behind(first)) >= ENTRIES_BEFORE * sizeof(u64))
		return first;
	next = vmalloc(ENTRIES_BEFORE * PAGE_SIZE);
	vfree(first);
	return next;
}

static int __init kpkeys_count_init(void)
{
	int error = -ENOMEM;

	page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	area = make_area();
	if (!page || !area)
		goto free;
	target = entry_behind(area);
	register_die_notifier(&die_notifier);
	error = misc_register(&kpkeys_count_device);
	if (!error)
		return 0;
	unregister_die_notifier(&die_notifier);
free:
	vfree(area);
	if (page)
		__free_page(page);
	return error;
}
module_init(kpkeys_count_init);

static void __exit kpkeys_count_exit(void)
{
	misc_deregister(&kpkeys_count_device);
	unregister_die_notifier(&die_notifier);
	vfree(area);
	__free_page(page);
}
module_exit(kpkeys_count_exit);

MODULE_DESCRIPTION("Has the kernel count in a page table");
MODULE_LICENSE("GPL");
