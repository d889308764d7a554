// SPDX-License-Identifier: GPL-2.0
/*
 * What we assume an attacker on page tables to have: read access to kernel memory, the
 * places of things, and a bug that writes one word anywhere. It also offers ways to
 * make the kernel create page tables.
 *
 * It works on any kernel, and does not judge.
 */
#include <linux/bitfield.h>
#include <linux/completion.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/kthread.h>
#include <linux/log2.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pgtable.h>
#include <linux/processor.h>
#include <linux/set_memory.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include <asm/fixmap.h>

#include "kpkeys_probe.h"
#include "witness.h"

#define AREA_PAGES  (KPKEYS_PROBE_AREA_SIZE / PAGE_SIZE)
#define BLOCK_ORDER (PMD_SHIFT - PAGE_SHIFT)

/* Nothing is there, and any CPU can address it. */
#define FAR_AWAY (256UL << 30)

/* What was made through an open file. */
struct probe {
	void *area;
	struct page *area_page;
	struct page *block;
	bool split;
	void __iomem *far;
};

#ifdef CONFIG_X86
static void find_tops(struct kpkeys_probe_places *places)
{
	places->top = read_cr3_pa();
	places->kernel_top = places->top;
	places->user_top = IS_ENABLED(CONFIG_MITIGATION_PAGE_TABLE_ISOLATION) ? PAGE_SIZE : 0;
	places->levels = native_read_cr4() & X86_CR4_LA57 ? 5 : 4;
	places->direct_map = page_offset_base;
	places->memory = page_offset_base;
}
#else
/* As many as the CPU walks: a kernel can be built for more of them. */
static unsigned int levels_walked(void)
{
	unsigned int bits = 64 - FIELD_GET(TCR_T1SZ_MASK, read_sysreg(tcr_el1));

	return DIV_ROUND_UP(bits - PAGE_SHIFT, PAGE_SHIFT - ilog2(sizeof(u64)));
}

static void find_tops(struct kpkeys_probe_places *places)
{
	/* Where the direct map begins there can be nothing: it is moved about. */
	phys_addr_t first = PFN_PHYS(NODE_DATA(0)->node_start_pfn);

	places->top = virt_to_phys(current->mm->pgd);
	places->kernel_top = read_sysreg(ttbr1_el1) & GENMASK_ULL(47, PAGE_SHIFT);
	places->constant_top = 1;
	if (IS_ENABLED(CONFIG_UNMAP_KERNEL_AT_EL0))
		places->trampoline_top = places->kernel_top - TRAMP_SWAPPER_OFFSET;
	places->levels = levels_walked();
	places->memory = (unsigned long)__va(first);
	places->direct_map = places->memory - first;
}
#endif

static long tell_places(struct kpkeys_probe_places __user *user)
{
	struct kpkeys_probe_places places = {
		.mm_pgd = offsetof(struct mm_struct, pgd),
		.struct_pages = (unsigned long)pfn_to_page(0),
		.fixmap = fix_to_virt(0),
	};

	find_tops(&places);
	return copy_to_user(user, &places, sizeof(places)) ? -EFAULT : 0;
}

static long read_memory(struct kpkeys_probe_read __user *user)
{
	struct kpkeys_probe_read wanted;
	void *memory;
	long error;

	if (copy_from_user(&wanted, user, sizeof(wanted)))
		return -EFAULT;
	if (wanted.size > PAGE_SIZE)
		return -EINVAL;
	memory = kmalloc(wanted.size, GFP_KERNEL);
	if (!memory)
		return -ENOMEM;
	error = copy_from_kernel_nofault(memory, (void *)wanted.address, wanted.size);
	if (!error && copy_to_user(u64_to_user_ptr(wanted.to), memory, wanted.size))
		error = -EFAULT;
	kfree(memory);
	return error;
}

static long try_write(struct kpkeys_probe_write __user *user)
{
	struct kpkeys_probe_write wanted;
	u64 word;

	if (copy_from_user(&wanted, user, sizeof(wanted)))
		return -EFAULT;
	if (!IS_ALIGNED(wanted.address, sizeof(u64)))
		return -EINVAL;
	if (get_kernel_nofault(word, (u64 *)wanted.address))
		return -EFAULT;
	wanted.end = try_to_change((u64 *)wanted.address);
	return copy_to_user(user, &wanted, sizeof(wanted)) ? -EFAULT : 0;
}

static long store_word(const struct kpkeys_probe_store __user *user)
{
	struct kpkeys_probe_store wanted;

	if (copy_from_user(&wanted, user, sizeof(wanted)))
		return -EFAULT;
	if (!IS_ALIGNED(wanted.address, sizeof(u64)))
		return -EINVAL;
	kernels_store((u64 *)wanted.address, wanted.value);
	return 0;
}

static long find_vma_flags(__u64 __user *user)
{
	struct vm_area_struct *vma;
	u64 address, flags = 0;

	if (get_user(address, user))
		return -EFAULT;
	mmap_read_lock(current->mm);
	vma = vma_lookup(current->mm, address);
	if (vma)
		flags = (unsigned long)&vma->vm_flags;
	mmap_read_unlock(current->mm);
	return flags ? put_user(flags, user) : -ENOENT;
}

/* One page maps all of it, because only the tables matter. */
static void make_area(struct probe *probe)
{
	struct page **pages = kvmalloc_array(AREA_PAGES, sizeof(*pages), GFP_KERNEL);
	size_t i;

	probe->area_page = alloc_page(GFP_KERNEL);
	if (pages && probe->area_page) {
		for (i = 0; i < AREA_PAGES; i++)
			pages[i] = probe->area_page;
		probe->area = vmap(pages, AREA_PAGES, VM_MAP, PAGE_KERNEL);
	}
	kvfree(pages);
}

static void free_area(struct probe *probe)
{
	vunmap(probe->area);
	if (probe->area_page)
		__free_page(probe->area_page);
	probe->area_page = NULL;
	probe->area = NULL;
}

struct thread {
	struct probe *probe;
	struct completion done;
};

static int make_area_fn(void *data)
{
	struct thread *thread = data;

	make_area(thread->probe);
	kthread_complete_and_exit(&thread->done, 0);
}

static void make_area_by_thread(struct probe *probe)
{
	struct thread thread = { .probe = probe };
	struct task_struct *task;

	init_completion(&thread.done);
	task = kthread_run(make_area_fn, &thread, "kpkeys_probe");
	if (!IS_ERR(task))
		wait_for_completion(&thread.done);
}

static long new_area(struct probe *probe, void (*make)(struct probe *probe), __u64 __user *user)
{
	if (probe->area)
		return -EBUSY;
	make(probe);
	if (probe->area)
		return put_user((unsigned long)probe->area, user);
	free_area(probe);
	return -ENOMEM;
}

static long new_block(struct probe *probe, __u64 __user *user)
{
	if (probe->block)
		return -EBUSY;
	probe->block = alloc_pages(GFP_KERNEL | __GFP_NOWARN, BLOCK_ORDER);
	if (!probe->block)
		return -ENOMEM;
	return put_user((unsigned long)page_address(probe->block), user);
}

#ifdef CONFIG_X86
static long map_differently(struct page *page, bool differently)
{
	unsigned long address = (unsigned long)page_address(page);

	return differently ? set_memory_wc(address, 1) : set_memory_wb(address, 1);
}
#else
/* It maps all of its memory by pages, or cannot split a large one. */
static long map_differently(struct page *page, bool differently)
{
	return -EOPNOTSUPP;
}
#endif

static void free_block(struct probe *probe)
{
	if (probe->split)
		map_differently(probe->block, false);
	if (probe->block)
		__free_pages(probe->block, BLOCK_ORDER);
}

static long split_block(struct probe *probe)
{
	long error;

	if (!probe->block || probe->split)
		return -EINVAL;
	error = map_differently(probe->block, true);
	probe->split = !error;
	return error;
}

/* Nobody looks at it, only at the tables. */
static long map_far(struct probe *probe, __u64 __user *user)
{
	if (probe->far)
		return -EBUSY;
	probe->far = ioremap(FAR_AWAY, KPKEYS_PROBE_FAR_SIZE);
	if (!probe->far)
		return -ENOMEM;
	return put_user((unsigned long)probe->far, user);
}

typedef void (*free_pages_t)(struct page *page, unsigned int order);

/* Otherwise its tables are ordinary pages, and are freed as such. */
static bool tables_are_keyed(void)
{
#ifdef CONFIG_KPKEYS_HARDENED_PGTABLES
	return kpkeys_pgtables_enabled();
#else
	return false;
#endif
}

/*
 * Stands for a forged list of tables to free, and struct page: both are ordinary memory,
 * and our series tells its pages by that flag.
 */
static long free_as_table(struct kpkeys_probe_freed __user *user)
{
	struct kpkeys_probe_freed wanted;
	struct page *page;

	if (copy_from_user(&wanted, user, sizeof(wanted)))
		return -EFAULT;
	page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!page)
		return -ENOMEM;
	wanted.address = (unsigned long)page_address(page);
	if (wanted.how && tables_are_keyed()) {
		set_bit(PG_owner_priv_1, &page->flags);
		((free_pages_t)(unsigned long)wanted.how)(page, 0);
	} else {
		__free_page(page);
	}
	return copy_to_user(user, &wanted, sizeof(wanted)) ? -EFAULT : 0;
}

static long kpkeys_probe_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct probe *probe = file->private_data;
	void __user *user = (void __user *)arg;

	switch (cmd) {
	case KPKEYS_PROBE_PLACES:
		return tell_places(user);
	case KPKEYS_PROBE_READ:
		return read_memory(user);
	case KPKEYS_PROBE_WRITE:
		return try_write(user);
	case KPKEYS_PROBE_STORE:
		return store_word(user);
	case KPKEYS_PROBE_VMA_FLAGS:
		return find_vma_flags(user);
	case KPKEYS_PROBE_AREA:
		return new_area(probe, make_area, user);
	case KPKEYS_PROBE_AREA_BY_THREAD:
		return new_area(probe, make_area_by_thread, user);
	case KPKEYS_PROBE_BLOCK:
		return new_block(probe, user);
	case KPKEYS_PROBE_SPLIT:
		return split_block(probe);
	case KPKEYS_PROBE_FAR:
		return map_far(probe, user);
	case KPKEYS_PROBE_FREED:
		return free_as_table(user);
	default:
		return -ENOTTY;
	}
}

static int kpkeys_probe_open(struct inode *inode, struct file *file)
{
	struct probe *probe = kzalloc(sizeof(*probe), GFP_KERNEL);

	file->private_data = probe;
	return probe ? 0 : -ENOMEM;
}

static int kpkeys_probe_release(struct inode *inode, struct file *file)
{
	struct probe *probe = file->private_data;

	free_area(probe);
	free_block(probe);
	if (probe->far)
		iounmap(probe->far);
	kfree(probe);
	return 0;
}

static const struct file_operations kpkeys_probe_fops = {
	.owner = THIS_MODULE,
	.open = kpkeys_probe_open,
	.unlocked_ioctl = kpkeys_probe_ioctl,
	.release = kpkeys_probe_release,
};

static struct miscdevice kpkeys_probe = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kpkeys_probe",
	.fops = &kpkeys_probe_fops,
	.mode = 0600,
};

static int __init kpkeys_probe_init(void)
{
	int error = witness_create();

	if (error)
		return error;
	error = misc_register(&kpkeys_probe);
	if (error)
		witness_destroy();
	return error;
}
module_init(kpkeys_probe_init);

static void __exit kpkeys_probe_exit(void)
{
	misc_deregister(&kpkeys_probe);
	witness_destroy();
}
module_exit(kpkeys_probe_exit);

MODULE_DESCRIPTION("Reads and writes kernel memory, as an attacker would");
MODULE_LICENSE("GPL");
