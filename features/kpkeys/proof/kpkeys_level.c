// SPDX-License-Identifier: GPL-2.0
/*
 * Tries to write to a page table while another thread may: one that is in the middle of
 * a section that writes many entries.
 *
 * It works on any kernel, and also checks that the thread itself can write, before and
 * after, unless it slept. Only the code that forges records knows how the kernel lets
 * sections write.
 */
#include <linux/completion.h>
#include <linux/console.h>
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pgtable.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "entry.h"
#include "kpkeys_level.h"
#include "section.h"
#include "witness.h"

enum { CPU_HERE, CPU_ELSEWHERE };

/* Much longer than anything here takes, which is microseconds. */
enum { PATIENCE = 60 * HZ };

typedef long (*system_call_t)(const struct pt_regs *regs);
typedef pid_t (*user_mode_thread_t)(int (*fn)(void *), void *arg, unsigned long flags);

/* The attack under way. */
static struct {
	/* The thread that may write, and the one that tries to. */
	struct task_struct *writer;
	struct task_struct *other;
	struct completion done;
	struct kpkeys_try end;
	/* Has anybody tried? */
	bool tried;
	/* Could the writer still write after the other had tried? */
	bool kept;
	/* Does the writer move to another CPU before the other tries? */
	bool moves;
	/* Is the writer printing the text of its warning? */
	bool warns;
	struct mm_struct *init_mm;
	user_mode_thread_t user_mode_thread;
	/* Where the pages of a file are mapped, and what nobody has looked at, of ours. */
	unsigned long file;
	unsigned long fault;
	system_call_t call;
	u64 arguments[KPKEYS_LEVEL_ARGUMENTS];
} attack;

static DEFINE_MUTEX(attack_lock);

/* A page of our own, and the page table entry that maps it. */
static void *page;
static u64 *entry;

static bool write_lands(void)
{
	return try_to_change(entry).landed;
}

static void try_to_write(void)
{
	attack.end = try_to_change(entry);
	/* Pairs with nobody_tried(). */
	smp_store_release(&attack.tried, true);
}

static bool nobody_tried(void)
{
	/* Pairs with try_to_write(). */
	return !smp_load_acquire(&attack.tried);
}

/* The error if no attack was made. */
static int tried(void)
{
	return nobody_tried() ? -ETIMEDOUT : 0;
}

/* The write is tried in an interrupt on this CPU, or on another CPU. */
static int spin_until_tried(void)
{
	unsigned long end = jiffies + PATIENCE;

	while (nobody_tried() && time_before(jiffies, end))
		cpu_relax();
	return tried();
}

static int sleep_until_tried(void)
{
	wait_for_completion_timeout(&attack.done, PATIENCE);
	return tried();
}

static void on_irq_work(struct irq_work *work)
{
	if (in_hardirq())
		try_to_write();
}

/* The CPU interrupts itself. Not irq_work_sync(), which may give way and so end a section. */
static int by_interrupt(void)
{
	static struct irq_work work = IRQ_WORK_INIT_HARD(on_irq_work);

	irq_work_queue(&work);
	return spin_until_tried();
}

#ifdef CONFIG_X86
#include "level_x86.h"
#else
#include "level_arm64.h"
#endif

static void on_console_write(struct console *console, const char *text, unsigned int length)
{
	if (current == READ_ONCE(attack.writer) && READ_ONCE(attack.warns) && in_task() &&
	    nobody_tried())
		try_to_write();
}

static struct console console = {
	.name = "kpkeys_level",
	.write = on_console_write,
	.flags = CON_ENABLED | CON_ANYTIME,
	.index = -1,
};

/*
 * An exception that the kernel handles before the common entry code. The attack runs in
 * it as a console. Not WARN(), because a call prints its text before the exception.
 */
static int by_warning(void)
{
	unsigned long end = jiffies + PATIENCE;

	while (nobody_tried() && time_before(jiffies, end)) {
		/*
		 * If the console is busy on another CPU, that CPU prints the text. Not
		 * console_lock(), which may give way and so end the section.
		 */
		if (!console_trylock())
			continue;
		console_unlock();
		WRITE_ONCE(attack.warns, true);
		WARN_ON(1);
		WRITE_ONCE(attack.warns, false);
	}
	return tried();
}

static int other_thread(void *unused)
{
	while (READ_ONCE(attack.moves) && task_cpu(attack.writer) == CPU_HERE)
		cond_resched();
	try_to_write();
	complete(&attack.done);
	return 0;
}

static int by_preemption(void)
{
	unsigned long end = jiffies + PATIENCE;

	sched_set_fifo(attack.other);
	wake_up_process(attack.other);
	while (nobody_tried() && time_before(jiffies, end))
		cond_resched();
	return tried();
}

/*
 * No section opened the register, so none is on record. The other runs next: nobody else
 * is as urgent. An interrupt that comes before it tries would notice, and warn.
 */
static int by_switching_open(void)
{
	bool opened;

	sched_set_fifo(attack.other);
	leave_section();
	local_irq_disable();
	wake_up_process(attack.other);
	open_register();
	opened = write_lands();
	if (opened)
		schedule();
	local_irq_enable();
	return opened ? sleep_until_tried() : -EIO;
}

static int by_sleep(void)
{
	wake_up_process(attack.other);
	return sleep_until_tried();
}

static int move_to(int cpu)
{
	int error = set_cpus_allowed_ptr(current, cpumask_of(cpu));

	if (error)
		return error;
	return raw_smp_processor_id() == cpu ? 0 : -EIO;
}

/* The other runs here next without being woken by an interrupt, which might clean up. */
static int by_migration(void)
{
	int moved;

	WRITE_ONCE(attack.moves, true);
	wake_up_process(attack.other);
	moved = move_to(CPU_ELSEWHERE);
	WRITE_ONCE(attack.moves, false);
	/* Wait, because both write the same entry. */
	spin_until_tried();
	return moved ?: move_to(CPU_HERE);
}

static int child_thread(void *unused)
{
	try_to_write();
	/* The thread has no user mode to return to. */
	send_sig(SIGKILL, current, 1);
	complete(&attack.done);
	return 0;
}

/* A copy of the writer, which has been switched out in its section before. */
static int by_new_thread(void)
{
	int error = by_sleep();
	pid_t child;

	if (error)
		return error;
	reinit_completion(&attack.done);
	WRITE_ONCE(attack.tried, false);
	child = attack.user_mode_thread(child_thread, NULL, SIGCHLD);
	return child < 0 ? child : sleep_until_tried();
}

static int by_other_cpu(void)
{
	wake_up_process(attack.other);
	return spin_until_tried();
}

static int by_nesting(void)
{
	enter_section();
	leave_section();
	return 0;
}

/* It has sections of its own, and may give way. */
static int by_vmalloc(void)
{
	void *area = vmalloc(PAGE_SIZE);

	vfree(area);
	return area ? 0 : -ENOMEM;
}

/* Write after kernel functions that have sections of their own. */
static void try_after_others(void)
{
	struct page *pages[] = { vmalloc_to_page(page) };
	void *alias = vmap(pages, ARRAY_SIZE(pages), VM_MAP, PAGE_KERNEL);

	if (!alias)
		return;
	vunmap(alias);
	try_to_write();
}

/* The return to user mode would close a register that is left open. */
static void try_after_call(void)
{
	struct pt_regs regs = {};

	set_arguments(&regs, attack.arguments);
	if (!IS_ERR_VALUE(attack.call(&regs)))
		try_to_write();
}

static void on_idle_irq_work(struct irq_work *work)
{
}

/* Whether the page of the process is in its page tables. */
static bool is_mapped(unsigned long address)
{
	struct page *found;

	if (get_user_pages_fast_only(address, 1, 0, &found) != 1)
		return false;
	put_page(found);
	return true;
}

/* The process need not return to user mode, nor an interrupt to the kernel. */
static void try_after_file_fault(void)
{
	struct page *asked;

	if (is_mapped(attack.file) || get_user_pages_unlocked(attack.file, 1, &asked, 0) != 1)
		return;
	try_to_write();
	put_page(asked);
	/* Otherwise the kernel has not mapped the pages as it does a file's. */
	if (!is_mapped(attack.file + PAGE_SIZE))
		attack.tried = false;
}

static bool leaked;

static void on_leaky_irq_work(struct irq_work *work)
{
	if (!in_hardirq())
		return;
	enter_section();
	WRITE_ONCE(leaked, true);
}

/* Nothing but the return from the interrupt may close the register in between. */
static void try_after_leaky_interrupt(void)
{
	static struct irq_work work = IRQ_WORK_INIT_HARD(on_leaky_irq_work);
	unsigned long end = jiffies + PATIENCE;

	WRITE_ONCE(leaked, false);
	/* A switch to another thread would close it. */
	preempt_disable();
	irq_work_queue(&work);
	while (!READ_ONCE(leaked) && time_before(jiffies, end))
		cpu_relax();
	if (leaked)
		try_to_write();
	preempt_enable();
}

/* No section opened the register, so none closes it: the next interrupt must notice. */
static void try_at_open_register(void)
{
	struct irq_work work = IRQ_WORK_INIT_HARD(on_idle_irq_work);

	open_register();
	irq_work_queue(&work);
	irq_work_sync(&work);
	try_to_write();
}

static int try_when_called(pte_t *pte, unsigned long address, void *unused)
{
	try_to_write();
	return 0;
}

static void try_called(void)
{
	apply_to_page_range(attack.init_mm, (unsigned long)page, PAGE_SIZE, try_when_called, NULL);
}

#ifdef CONFIG_ARCH_HAS_KPKEYS
static struct kpkeys_cpu *records_here(void)
{
	return per_cpu_ptr(&kpkeys_cpu, CPU_HERE);
}

/*
 * One section more for the thread on the other CPU, by a store like any attacker's. Not
 * while an interrupt has put its sections away: that would notice one of its own.
 */
static void add_section(void)
{
	unsigned long end = jiffies + PATIENCE, sections;

	while (READ_ONCE(records_here()->nr_away) && time_before(jiffies, end))
		cpu_relax();
	sections = READ_ONCE(records_here()->sections) + 1;
	__put_kernel_nofault(&records_here()->sections, &sections, unsigned long, fault);
fault:;
}

/* Make them what they were, and what points at them. */
static void put_back_records(const struct kpkeys_cpu *records)
{
	const u64 *from = (const u64 *)records;
	u64 *to = (u64 *)records_here();
	size_t i;

	for (i = 0; i < sizeof(*records) / sizeof(*to); i++)
		__put_kernel_nofault(&to[i], &from[i], u64, fault);
fault:
	WRITE_ONCE(*kpkeys_hint(task_thread_info(attack.writer)), 1);
}

static void save_records(struct kpkeys_cpu *records)
{
	memcpy(records, records_here(), sizeof(*records));
}
#else
struct kpkeys_cpu {
	u64 none;
};

static void add_section(void)
{
}

static void put_back_records(const struct kpkeys_cpu *records)
{
}

static void save_records(struct kpkeys_cpu *records)
{
}
#endif

static struct kpkeys_cpu saved_records;

static int adding_thread(void *unused)
{
	add_section();
	complete(&attack.done);
	return 0;
}

static int by_holding_open(void)
{
	unsigned long end = jiffies + PATIENCE;

	wake_up_process(attack.other);
	while (!completion_done(&attack.done) && time_before(jiffies, end))
		cpu_relax();
	return completion_done(&attack.done) ? 0 : -ETIMEDOUT;
}

static int replaying_thread(void *unused)
{
	put_back_records(&saved_records);
	complete(&attack.done);
	return 0;
}

static int by_replay(void)
{
	bool replayed;

	/* Next after that thread: anybody else's section would run into the forged records. */
	sched_set_fifo(current);
	save_records(&saved_records);
	wake_up_process(attack.other);
	replayed = wait_for_completion_timeout(&attack.done, PATIENCE);
	if (replayed)
		try_to_write();
	sched_set_normal(current, 0);
	return replayed ? 0 : -ETIMEDOUT;
}

enum { NO_THREAD = -1 };

/*
 * What to do in the section, the CPU of the thread that helps, what to do afterwards, and
 * whether that needs no section; what the helping thread does, if it does not try to
 * write; and whether the writer gives way in its section, which may end it.
 */
static const struct {
	int (*within)(void);
	int thread_cpu;
	void (*after)(void);
	bool no_section;
	int (*thread)(void *unused);
	bool gives_way;
} contexts[] = {
	[KPKEYS_LEVEL_INTERRUPT] = { by_interrupt, NO_THREAD },
	/* A page fault on arm64, which may wait. */
	[KPKEYS_LEVEL_EXCEPTION] = { by_exception, NO_THREAD,
				     .gives_way = IS_ENABLED(CONFIG_ARM64) },
#ifdef CONFIG_X86
	[KPKEYS_LEVEL_BREAKPOINT] = { by_breakpoint, NO_THREAD },
	[KPKEYS_LEVEL_NMI] = { by_nmi, NO_THREAD },
#endif
	[KPKEYS_LEVEL_WARNING] = { by_warning, NO_THREAD },
	[KPKEYS_LEVEL_PREEMPT] = { by_preemption, CPU_HERE, .gives_way = true },
	[KPKEYS_LEVEL_SLEEP] = { by_sleep, CPU_HERE, .gives_way = true },
	[KPKEYS_LEVEL_MIGRATE] = { by_migration, CPU_HERE, .gives_way = true },
	[KPKEYS_LEVEL_NEW_THREAD] = { by_new_thread, CPU_HERE, .gives_way = true },
	[KPKEYS_LEVEL_OTHER_CPU] = { by_other_cpu, CPU_ELSEWHERE },
	[KPKEYS_LEVEL_AFTER] = { NULL, NO_THREAD, try_to_write },
	[KPKEYS_LEVEL_AFTER_OTHERS] = { NULL, NO_THREAD, try_after_others, true },
	[KPKEYS_LEVEL_OPEN_REGISTER] = { NULL, NO_THREAD, try_at_open_register, true },
	[KPKEYS_LEVEL_REPLAY] = { by_replay, CPU_HERE, .thread = replaying_thread,
				  .gives_way = true },
	[KPKEYS_LEVEL_DEBUG] = { by_single_step, NO_THREAD },
	[KPKEYS_LEVEL_NESTED] = { by_nesting, NO_THREAD, try_to_write },
	[KPKEYS_LEVEL_CALLED] = { NULL, NO_THREAD, try_called, true },
	[KPKEYS_LEVEL_HELD_OPEN] = { by_holding_open, CPU_ELSEWHERE, try_to_write,
				     .thread = adding_thread },
	[KPKEYS_LEVEL_FILE_FAULT] = { NULL, NO_THREAD, try_after_file_fault, true },
	[KPKEYS_LEVEL_VMALLOC] = { by_vmalloc, NO_THREAD, try_to_write, .gives_way = true },
	[KPKEYS_LEVEL_SWITCHED_OPEN] = { by_switching_open, CPU_HERE, .gives_way = true },
	[KPKEYS_LEVEL_LEAKY_INTERRUPT] = { NULL, NO_THREAD, try_after_leaky_interrupt, true },
	[KPKEYS_LEVEL_AFTER_CALL] = { NULL, NO_THREAD, try_after_call, true },
};

static int in_section(u32 context)
{
	int error = 0;

	if (!write_lands())
		return -ENXIO;
	if (contexts[context].within)
		error = contexts[context].within();
	if (!contexts[context].gives_way)
		attack.kept = write_lands();
	return error;
}

static int make_thread(u32 context)
{
	int (*run)(void *unused) = contexts[context].thread ?: other_thread;
	int cpu = contexts[context].thread_cpu;
	struct task_struct *thread;

	if (cpu == NO_THREAD)
		return 0;
	thread = kthread_create_on_cpu(run, NULL, cpu, "kpkeys_level/%u");
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	attack.other = get_task_struct(thread);
	return 0;
}

static void stop_thread(void)
{
	if (attack.other)
		kthread_stop_put(attack.other);
	attack.other = NULL;
}

/* No lock is held, so it may sleep in the section. */
static int try_in_section(u32 context)
{
	int error = make_thread(context);

	if (error)
		return error;
	WRITE_ONCE(attack.writer, current);
	enter_section();
	error = in_section(context);
	leave_section();
	WRITE_ONCE(attack.writer, NULL);
	return error;
}

static int run_attack(const struct kpkeys_level_attack *asked)
{
	u32 context = asked->context;
	int error = 0;

	attack.tried = false;
	attack.kept = true;
	attack.init_mm = (struct mm_struct *)(unsigned long)asked->init_mm;
	attack.user_mode_thread = (user_mode_thread_t)(unsigned long)asked->user_mode_thread;
	attack.file = asked->file;
	attack.fault = asked->fault;
	attack.call = (system_call_t)(unsigned long)asked->call;
	memcpy(attack.arguments, asked->arguments, sizeof(attack.arguments));
	reinit_completion(&attack.done);
	if (!contexts[context].no_section)
		error = try_in_section(context);
	/* At once: what stops the thread that helped might close the register. */
	if (!error && contexts[context].after)
		contexts[context].after();
	stop_thread();
	if (error)
		return error;
	error = tried();
	if (error)
		return error;
	/* A kernel that took the right from the writer is broken, not safe. */
	return attack.end.landed || attack.kept ? 0 : -EIO;
}

static long give_end(struct kpkeys_try __user *user, struct kpkeys_try end)
{
	return copy_to_user(user, &end, sizeof(end)) ? -EFAULT : 0;
}

static bool is_whole(const struct kpkeys_level_attack *asked)
{
	bool calls = asked->context == KPKEYS_LEVEL_AFTER_CALL;

	return asked->context < ARRAY_SIZE(contexts) && asked->init_mm && asked->user_mode_thread &&
	       calls == !!asked->call;
}

static long checked_attack(struct kpkeys_level_attack __user *user)
{
	struct kpkeys_level_attack asked;
	int error;

	if (copy_from_user(&asked, user, sizeof(asked)))
		return -EFAULT;
	if (!is_whole(&asked))
		return -EINVAL;
	if (raw_smp_processor_id() != CPU_HERE || !cpu_online(CPU_ELSEWHERE))
		return -ENODEV;
	guard(mutex)(&attack_lock);
	error = run_attack(&asked);
	return error ?: give_end(&user->end, attack.end);
}

static int stay_in_section(void)
{
	enter_section();
	if (write_lands())
		return 0;
	leave_section();
	return -ENXIO;
}

static long kpkeys_level_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case KPKEYS_LEVEL_ATTACK:
		return checked_attack((struct kpkeys_level_attack __user *)arg);
	case KPKEYS_LEVEL_STAY_IN_SECTION:
		return stay_in_section();
	case KPKEYS_LEVEL_TRY:
		return give_end((struct kpkeys_try __user *)arg, try_to_change(entry));
	default:
		return -ENOTTY;
	}
}

static const struct file_operations kpkeys_level_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = kpkeys_level_ioctl,
#ifdef CONFIG_ARM64
	.mmap = kpkeys_level_mmap,
#endif
};

static struct miscdevice kpkeys_level_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kpkeys_level",
	.fops = &kpkeys_level_fops,
	.mode = 0600,
};

static int __init kpkeys_level_init(void)
{
	int error;

	init_completion(&attack.done);
	page = vmalloc(PAGE_SIZE);
	if (!page)
		return -ENOMEM;
	entry = entry_of(page);
	error = witness_create();
	if (error)
		goto free_page;
	error = expect_exceptions();
	if (error)
		goto destroy_witness;
	register_console(&console);
	error = misc_register(&kpkeys_level_device);
	if (!error)
		return 0;
	unregister_console(&console);
	expect_no_exceptions();
destroy_witness:
	witness_destroy();
free_page:
	vfree(page);
	return error;
}
module_init(kpkeys_level_init);

static void __exit kpkeys_level_exit(void)
{
	misc_deregister(&kpkeys_level_device);
	unregister_console(&console);
	expect_no_exceptions();
	witness_destroy();
	vfree(page);
}
module_exit(kpkeys_level_exit);

MODULE_DESCRIPTION("Writes to page tables during a section that may write");
MODULE_LICENSE("GPL");
