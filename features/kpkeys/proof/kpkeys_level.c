// SPDX-License-Identifier: GPL-2.0
/*
 * Tries to write to a page table while another thread may: one that is in the middle of
 * a lazy MMU section of the kernel.
 *
 * It works on any kernel, and also checks that the thread itself can write, before and
 * after. Only the code that forges a level knows how the kernel lets sections write.
 */
#include <asm/apic.h>
#include <asm/msr.h>
#include <asm/trapnr.h>
#include <linux/completion.h>
#include <linux/console.h>
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/irq_work.h>
#include <linux/kdebug.h>
#include <linux/kthread.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nmi.h>
#include <linux/pgtable.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "kpkeys_level.h"

/* Kernels before our series do not name it. */
#ifndef MSR_IA32_PKRS
#define MSR_IA32_PKRS 0x6e1
#endif

enum { CPU_HERE, CPU_ELSEWHERE };

enum { NOBODY_TRIED = -1 };

/* Much longer than anything here takes, which is microseconds. */
enum { PATIENCE = 60 * HZ };

typedef pid_t (*user_mode_thread_t)(int (*fn)(void *), void *arg, unsigned long flags);

/* The attack under way. */
static struct {
	/* The thread that may write, and the one that tries to. */
	struct task_struct *writer;
	struct task_struct *other;
	struct completion done;
	struct completion forged;
	int landed;
	/* Could the writer still write after the other had tried? */
	bool kept;
	/* Does the writer move to another CPU before the other tries? */
	bool moves;
	/* Is the writer printing the text of its warning? */
	bool warns;
	/* The address at which on_die() continues. */
	unsigned long resume;
	user_mode_thread_t user_mode_thread;
} attack;

static DEFINE_MUTEX(attack_lock);

/* A page of our own, and the page table entry that maps it. */
static void *page;
static u64 *entry;

/* Flip a bit that is left to software, and restore it at once. */
static bool write_lands(void)
{
	u64 old = READ_ONCE(*entry), changed = old ^ _PAGE_SOFTW1;
	bool landed;

	__put_kernel_nofault(entry, &changed, u64, fault);
	landed = READ_ONCE(*entry) == changed;
	__put_kernel_nofault(entry, &old, u64, fault);
	return landed;
fault:
	return false;
}

static void try_to_write(void)
{
	WRITE_ONCE(attack.landed, write_lands());
}

static bool nobody_tried(void)
{
	return READ_ONCE(attack.landed) == NOBODY_TRIED;
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

/* The CPU interrupts itself. */
static int by_interrupt(void)
{
	struct irq_work work = IRQ_WORK_INIT_HARD(on_irq_work);

	irq_work_queue(&work);
	irq_work_sync(&work);
	return spin_until_tried();
}

static int on_die(struct notifier_block *block, unsigned long event, void *data)
{
	struct die_args *args = data;

	if (current != READ_ONCE(attack.writer) || !nobody_tried())
		return NOTIFY_DONE;
	if (event == DIE_TRAP && args->trapnr == X86_TRAP_DE)
		args->regs->ip = attack.resume;
	else if (event != DIE_INT3)
		return NOTIFY_DONE;
	try_to_write();
	return NOTIFY_STOP;
}

static struct notifier_block die_notifier = { .notifier_call = on_die };

/* A division by zero, whose entry code most exceptions share. */
static int by_exception(void)
{
	asm volatile("leaq 1f(%%rip), %%rax\n\t"
		     "movq %%rax, %0\n\t"
		     "xorl %%ecx, %%ecx\n\t"
		     "divl %%ecx\n"
		     "1:"
		     : "=m"(attack.resume)
		     :
		     : "rax", "rcx", "rdx", "cc", "memory");
	return spin_until_tried();
}

/* A breakpoint can hit anywhere, so it has the entry code of NMIs. */
static int by_breakpoint(void)
{
	asm volatile("int3" : : : "memory");
	return spin_until_tried();
}

static int on_nmi(unsigned int type, struct pt_regs *regs)
{
	if (current != READ_ONCE(attack.writer) || !nobody_tried())
		return NMI_DONE;
	try_to_write();
	return NMI_HANDLED;
}

static int by_nmi(void)
{
	__apic_send_IPI_mask(cpumask_of(CPU_HERE), NMI_VECTOR);
	return spin_until_tried();
}

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
		/* If the console is busy on another CPU, that CPU prints the text. */
		console_lock();
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
	bool kept;
	int moved;

	WRITE_ONCE(attack.moves, true);
	wake_up_process(attack.other);
	moved = move_to(CPU_ELSEWHERE);
	WRITE_ONCE(attack.moves, false);
	/* Wait, because both write the same entry. */
	spin_until_tried();
	kept = write_lands();
	if (moved)
		return moved;
	return attack.landed || kept ? move_to(CPU_HERE) : -EIO;
}

static int child_thread(void *unused)
{
	try_to_write();
	/* The thread has no user mode to return to. */
	send_sig(SIGKILL, current, 1);
	complete(&attack.done);
	return 0;
}

/* A copy of the writer, which has been switched out at its level before. */
static int by_new_thread(void)
{
	int error = by_sleep();
	pid_t child;

	if (error)
		return error;
	reinit_completion(&attack.done);
	WRITE_ONCE(attack.landed, NOBODY_TRIED);
	child = attack.user_mode_thread(child_thread, NULL, SIGCHLD);
	return child < 0 ? child : sleep_until_tried();
}

static int by_other_cpu(void)
{
	wake_up_process(attack.other);
	return spin_until_tried();
}

/* Write after kernel functions that raise the level without a section. */
static void try_after_others(void)
{
	struct page *pages[] = { vmalloc_to_page(page) };
	void *alias = vmap(pages, ARRAY_SIZE(pages), VM_MAP, PAGE_KERNEL);

	if (!alias)
		return;
	vunmap(alias);
	try_to_write();
}

static void on_idle_irq_work(struct irq_work *work)
{
}

/* No section opened the register, so none closes it: the next interrupt must notice. */
static void try_at_open_register(void)
{
	struct irq_work work = IRQ_WORK_INIT_HARD(on_idle_irq_work);

	/* If the CPU lacks the register, tables have no key either. */
	if (wrmsrl_safe(MSR_IA32_PKRS, 0))
		pr_info("no register of protection keys\n");
	irq_work_queue(&work);
	irq_work_sync(&work);
	try_to_write();
}

/* The level is in ordinary memory: whoever can write anywhere can forge it. */
static void forge_level(struct task_struct *task)
{
#ifdef CONFIG_X86_SUPERVISOR_PKEYS
	/* The first existing note. */
	task->thread.kpkeys_note = 2;
	*kpkeys_level(task_thread_info(task)) = KPKEYS_LVL_PGTABLES;
#endif
}

static void lower_level(void)
{
#ifdef CONFIG_X86_SUPERVISOR_PKEYS
	*kpkeys_level(current_thread_info()) = KPKEYS_LVL_DEFAULT;
#endif
}

static int sleeping_thread(void *unused)
{
	wait_for_completion(&attack.forged);
	try_to_write();
	lower_level();
	complete(&attack.done);
	return 0;
}

static bool sleeps(const struct task_struct *task)
{
	return READ_ONCE(task->__state) == TASK_UNINTERRUPTIBLE && !READ_ONCE(task->on_cpu);
}

/* Make a thread that was never at a level come back at one. */
static void try_at_forged_level(void)
{
	unsigned long end = jiffies + PATIENCE;
	struct task_struct *thread;

	thread = kthread_create_on_cpu(sleeping_thread, NULL, CPU_HERE, "kpkeys_level/%u");
	if (IS_ERR(thread))
		return;
	reinit_completion(&attack.forged);
	wake_up_process(thread);
	while (!sleeps(thread) && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	forge_level(thread);
	complete(&attack.forged);
	sleep_until_tried();
}

enum { NO_THREAD = -1 };

/*
 * What to do in the section, the CPU of the thread that helps, what to do afterwards, and
 * whether that needs no section.
 */
static const struct {
	int (*within)(void);
	int thread_cpu;
	void (*after)(void);
	bool no_section;
} contexts[] = {
	[KPKEYS_LEVEL_INTERRUPT] = { by_interrupt, NO_THREAD },
	[KPKEYS_LEVEL_EXCEPTION] = { by_exception, NO_THREAD },
	[KPKEYS_LEVEL_BREAKPOINT] = { by_breakpoint, NO_THREAD },
	[KPKEYS_LEVEL_NMI] = { by_nmi, NO_THREAD },
	[KPKEYS_LEVEL_WARNING] = { by_warning, NO_THREAD },
	[KPKEYS_LEVEL_PREEMPT] = { by_preemption, CPU_HERE },
	[KPKEYS_LEVEL_SLEEP] = { by_sleep, CPU_HERE },
	[KPKEYS_LEVEL_MIGRATE] = { by_migration, CPU_HERE },
	[KPKEYS_LEVEL_NEW_THREAD] = { by_new_thread, CPU_HERE },
	[KPKEYS_LEVEL_OTHER_CPU] = { by_other_cpu, CPU_ELSEWHERE },
	[KPKEYS_LEVEL_AFTER] = { NULL, NO_THREAD, try_to_write },
	[KPKEYS_LEVEL_AFTER_OTHERS] = { NULL, NO_THREAD, try_after_others, true },
	[KPKEYS_LEVEL_OPEN_REGISTER] = { NULL, NO_THREAD, try_at_open_register, true },
	[KPKEYS_LEVEL_FORGED] = { NULL, NO_THREAD, try_at_forged_level, true },
};

/* Runs in the middle of a lazy MMU section, without a lock, so it may sleep. */
static int in_section(pte_t *pte, unsigned long address, void *data)
{
	int (*within)(void) = contexts[*(u32 *)data].within;
	int error = 0;

	if (!write_lands())
		return -ENXIO;
	if (within)
		error = within();
	attack.kept = write_lands();
	return error;
}

static int make_thread(int cpu)
{
	struct task_struct *thread;

	if (cpu == NO_THREAD)
		return 0;
	thread = kthread_create_on_cpu(other_thread, NULL, cpu, "kpkeys_level/%u");
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

static int try_in_section(const struct kpkeys_level_attack *asked)
{
	struct mm_struct *mm = (struct mm_struct *)(unsigned long)asked->init_mm;
	u32 context = asked->context;
	int error;

	error = make_thread(contexts[context].thread_cpu);
	if (error)
		return error;
	WRITE_ONCE(attack.writer, current);
	error = apply_to_page_range(mm, (unsigned long)page, PAGE_SIZE, in_section, &context);
	WRITE_ONCE(attack.writer, NULL);
	stop_thread();
	return error;
}

static int run_attack(const struct kpkeys_level_attack *asked)
{
	u32 context = asked->context;
	int error = 0;

	attack.landed = NOBODY_TRIED;
	attack.kept = true;
	attack.user_mode_thread = (user_mode_thread_t)(unsigned long)asked->user_mode_thread;
	reinit_completion(&attack.done);
	if (!contexts[context].no_section)
		error = try_in_section(asked);
	if (error)
		return error;

	if (contexts[context].after)
		contexts[context].after();
	error = tried();
	if (error)
		return error;
	/* A kernel that took the right from the writer is broken, not safe. */
	return attack.landed || attack.kept ? attack.landed : -EIO;
}

static long checked_attack(const struct kpkeys_level_attack __user *user)
{
	struct kpkeys_level_attack asked;

	if (copy_from_user(&asked, user, sizeof(asked)))
		return -EFAULT;
	if (asked.context >= ARRAY_SIZE(contexts) || !asked.init_mm || !asked.user_mode_thread)
		return -EINVAL;
	if (raw_smp_processor_id() != CPU_HERE || !cpu_online(CPU_ELSEWHERE))
		return -ENODEV;
	guard(mutex)(&attack_lock);
	return run_attack(&asked);
}

static int stay_in_section(void)
{
	arch_enter_lazy_mmu_mode();
	if (write_lands())
		return 0;
	arch_leave_lazy_mmu_mode();
	return -ENXIO;
}

static long kpkeys_level_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case KPKEYS_LEVEL_ATTACK:
		return checked_attack((const struct kpkeys_level_attack __user *)arg);
	case KPKEYS_LEVEL_STAY_IN_SECTION:
		return stay_in_section();
	case KPKEYS_LEVEL_TRY:
		return write_lands();
	default:
		return -ENOTTY;
	}
}

static const struct file_operations kpkeys_level_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = kpkeys_level_ioctl,
};

static struct miscdevice kpkeys_level_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kpkeys_level",
	.fops = &kpkeys_level_fops,
	.mode = 0600,
};

static int __init kpkeys_level_init(void)
{
	unsigned int level;
	int error;

	init_completion(&attack.done);
	init_completion(&attack.forged);
	page = vmalloc(PAGE_SIZE);
	if (!page)
		return -ENOMEM;
	entry = (u64 *)lookup_address((unsigned long)page, &level);
	error = register_nmi_handler(NMI_LOCAL, on_nmi, 0, "kpkeys_level");
	if (error)
		goto free_page;
	register_die_notifier(&die_notifier);
	register_console(&console);
	error = misc_register(&kpkeys_level_device);
	if (!error)
		return 0;
	unregister_console(&console);
	unregister_die_notifier(&die_notifier);
	unregister_nmi_handler(NMI_LOCAL, "kpkeys_level");
free_page:
	vfree(page);
	return error;
}
module_init(kpkeys_level_init);

static void __exit kpkeys_level_exit(void)
{
	misc_deregister(&kpkeys_level_device);
	unregister_console(&console);
	unregister_die_notifier(&die_notifier);
	unregister_nmi_handler(NMI_LOCAL, "kpkeys_level");
	vfree(page);
}
module_exit(kpkeys_level_exit);

MODULE_DESCRIPTION("Writes to page tables during a section that may write");
MODULE_LICENSE("GPL");
