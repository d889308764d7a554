// SPDX-License-Identifier: GPL-2.0
/*
 * Description: /proc/kpkeys_events shows whether the protection is in force: on how
 * many CPUs the register is closed and enforced, how many page tables can be written,
 * and how many of the records of who may write to them. Writing a number of milliseconds
 * there spends that time in a section that may write; with 0, the stack overflows in one.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>
#include <linux/module.h>
#include <linux/panic_notifier.h>
#include <linux/percpu.h>
#include <linux/pgtable.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include <asm/kpkeys.h>

#ifdef CONFIG_X86
#include "machine_x86.h"
#else
#include "machine_arm64.h"
#endif

struct found {
	atomic_t cpus, closed;
	unsigned int tables, writable, records, open;
};

/* The entry of the section that a thread is in; NULL if there is none. */
static pte_t *section;
static const char *last = "none";

static bool lands(void *to)
{
	u64 same = READ_ONCE(*(u64 *)to);
	bool landed = false;

	pagefault_disable();
	__put_kernel_nofault(to, &same, u64, fault);
	landed = true;
fault:
	pagefault_enable();
	return landed;
}

static void look_at_cpu(void *data)
{
	struct found *found = data;

	atomic_inc(&found->cpus);
	if (is_closed())
		atomic_inc(&found->closed);
}

static void look_at_table(struct found *found, u64 *table, int level)
{
	int i;

	found->tables++;
	found->writable += lands(table);
	for (i = 0; i < PTRS_PER_PTE; i++) {
		u64 *next = entry_table(READ_ONCE(table[i]), level);

		if (next)
			look_at_table(found, next, level - 1);
	}
}

static void look_at_records(struct found *found, int cpu)
{
	found->records++;
	found->open += lands(per_cpu_ptr(&kpkeys_cpu, cpu));
}

/* Look at the tables of the kernel and of the calling process. */
static int show(struct seq_file *to, void *unused)
{
	struct found found = {};
	u64 *tops[2];
	int cpu, i;

	on_each_cpu(look_at_cpu, &found, true);
	for (i = top_tables(tops); i--;)
		look_at_table(&found, tops[i], table_levels());
	for_each_possible_cpu(cpu) look_at_records(&found, cpu);
	seq_printf(to, "cpus %d closed %d tables %u writable %u records %u open %u section %s\n",
		   atomic_read(&found.cpus), atomic_read(&found.closed), found.tables,
		   found.writable, found.records, found.open, last);
	return 0;
}

static int open_show(struct inode *inode, struct file *file)
{
	return single_open(file, show, NULL);
}

static noinline unsigned int overflow(unsigned int depth)
{
	unsigned int frame[64];

	/* The compiler must neither leave the frame out nor make a loop of the calls. */
	OPTIMIZER_HIDE_VAR(depth);
	frame[depth % 64] = depth;
	barrier_data(frame);
	return depth ? overflow(depth + 1) + frame[depth % 64] : 0;
}

static int in_section(pte_t *pte, unsigned long address, void *data)
{
	unsigned long time = *(unsigned long *)data, end = jiffies + msecs_to_jiffies(time);
	bool could;

	kpkeys_pgtables_raise();
	could = lands(pte);
	WRITE_ONCE(section, pte);
	pr_info("in a section\n");
	if (!time)
		overflow(1);
	while (time_before(jiffies, end))
		cpu_relax();
	WRITE_ONCE(section, NULL);
	last = could && lands(pte) ? "kept" : "lost";
	kpkeys_pgtables_lower();
	return 0;
}

static ssize_t spend(struct file *file, const char __user *text, size_t size, loff_t *at)
{
	struct mm_struct *mm = current->mm;
	unsigned long time;
	int error;

	error = kstrtoul_from_user(text, size, 10, &time);
	if (error)
		return error;
	mmap_read_lock(mm);
	error = apply_to_page_range(mm, mm->start_stack & PAGE_MASK, PAGE_SIZE, in_section, &time);
	mmap_read_unlock(mm);
	return error ?: size;
}

/* The code that panics while a thread is in a section is not that thread's. */
static int on_panic(struct notifier_block *block, unsigned long event, void *data)
{
	pte_t *pte = READ_ONCE(section);

	if (pte)
		pr_emerg("panic in a section: a write %s\n", lands(pte) ? "lands" : "faults");
	return NOTIFY_DONE;
}

static struct notifier_block panic_block = { .notifier_call = on_panic };

static const struct proc_ops events_ops = {
	.proc_open = open_show,
	.proc_read = seq_read,
	.proc_write = spend,
	.proc_release = single_release,
};

static int __init events_init(void)
{
	if (!proc_create("kpkeys_events", 0600, NULL, &events_ops))
		return -ENOMEM;
	atomic_notifier_chain_register(&panic_notifier_list, &panic_block);
	return 0;
}

static void __exit events_exit(void)
{
	atomic_notifier_chain_unregister(&panic_notifier_list, &panic_block);
	remove_proc_entry("kpkeys_events", NULL);
}

module_init(events_init);
module_exit(events_exit);
MODULE_DESCRIPTION("Tells whether page tables are protected");
MODULE_LICENSE("GPL");
