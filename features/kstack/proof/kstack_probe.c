// SPDX-License-Identifier: GPL-2.0
/*
 * Tells a process where on the kernel stack its system call runs, and what the running
 * kernel's own macros make of an offset.
 *
 * The answer is the return value, so that asking costs one system call and nothing
 * else. Only the state of the generator is too long for that.
 */
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/pid.h>
#include <linux/randomize_kstack.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <linux/timekeeping.h>
#include <linux/timer.h>
#include <linux/uaccess.h>

#include "kstack_probe.h"

/* Bytes from the top of the stack down to this call's frame. */
static long stack_position(void)
{
	unsigned long top = (unsigned long)task_stack_page(current) + THREAD_SIZE;

	return top - (unsigned long)__builtin_frame_address(0);
}

#ifdef CONFIG_RANDOMIZE_KSTACK_OFFSET
/*
 * How far the kernel's alloca moves the stack for a drawn value. The compiler rounds,
 * so the mask alone does not say how many positions there are.
 */
static noinline long stack_displacement(unsigned long drawn)
{
	u8 *moved = __kstack_alloca(KSTACK_OFFSET_MAX(drawn));

	asm volatile("" : : "r"(moved) : "memory");
	return (u8 *)__builtin_frame_address(0) - moved;
}

static long largest_offset(void)
{
	return KSTACK_OFFSET_MAX(~0U);
}

/* TEMPER's header is the one with neither LFSR's macro nor stock's hook for architectures. */
#ifdef KSTACK_GENERATOR_LFSR
static u64 state_of(const struct task_struct *task)
{
	return 0;
}

static int read_generator(struct kstack_probe_state *state, void __percpu *symbol)
{
	const struct rnd_state *rnd = per_cpu_ptr(symbol, state->cpu);

	if (!symbol)
		return -EINVAL;
	state->generator = KSTACK_LFSR;
	state->cpu_state[0] = rnd->s1;
	state->cpu_state[1] = rnd->s2;
	state->cpu_state[2] = rnd->s3;
	state->cpu_state[3] = rnd->s4;
	return 0;
}
#elif defined(choose_random_kstack_offset)
static u64 state_of(const struct task_struct *task)
{
	return READ_ONCE(task->kstack_offset);
}

static int read_generator(struct kstack_probe_state *state, void __percpu *symbol)
{
	state->generator = KSTACK_STOCK;
	state->task_state = state_of(current);
	return 0;
}
#else
static u64 state_of(const struct task_struct *task)
{
	return READ_ONCE(task->kstack_state);
}

static int read_generator(struct kstack_probe_state *state, void __percpu *symbol)
{
	const unsigned long *key = per_cpu_ptr(symbol, state->cpu);

	if (!symbol)
		return -EINVAL;
	state->generator = KSTACK_TEMPER;
	state->task_state = state_of(current);
	state->cpu_state[0] = READ_ONCE(*key);
	return 0;
}
#endif

static long generator_state(struct kstack_probe_state __user *user)
{
	struct kstack_probe_state state;
	long error;

	if (copy_from_user(&state, user, sizeof(state)))
		return -EFAULT;
	if (state.cpu >= nr_cpu_ids || !cpu_possible(state.cpu))
		return -EINVAL;
	state.mask = KSTACK_OFFSET_MAX(~0UL) & ~KSTACK_OFFSET_MAX(0UL);
	error = read_generator(&state, (void __percpu __force *)(unsigned long)state.symbol);
	if (error)
		return error;
	return copy_to_user(user, &state, sizeof(state)) ? -EFAULT : 0;
}

static long task_state(struct kstack_probe_task __user *user)
{
	struct kstack_probe_task asked;
	struct task_struct *task;
	struct pid *pid;

	if (copy_from_user(&asked, user, sizeof(asked)))
		return -EFAULT;
	pid = find_get_pid(asked.task);
	task = get_pid_task(pid, PIDTYPE_PID);
	put_pid(pid);
	if (!task)
		return -ESRCH;
	asked.state = state_of(task);
	put_task_struct(task);
	return copy_to_user(user, &asked, sizeof(asked)) ? -EFAULT : 0;
}
#else
static long stack_displacement(unsigned long drawn)
{
	return -EOPNOTSUPP;
}

static long largest_offset(void)
{
	return -EOPNOTSUPP;
}

static long generator_state(struct kstack_probe_state __user *user)
{
	return -EOPNOTSUPP;
}

static long task_state(struct kstack_probe_task __user *user)
{
	return -EOPNOTSUPP;
}
#endif

static long percpu_memory(struct kstack_probe_memory __user *user, bool put)
{
	struct kstack_probe_memory memory;
	unsigned long flags;
	u64 *words;

	/* There the random numbers of a CPU have a lock among them. */
	if (put && (IS_ENABLED(CONFIG_PREEMPT_RT) || IS_ENABLED(CONFIG_DEBUG_LOCK_ALLOC)))
		return -EOPNOTSUPP;
	if (copy_from_user(&memory, user, sizeof(memory)))
		return -EFAULT;
	if (!memory.symbol || memory.cpu >= nr_cpu_ids || !cpu_possible(memory.cpu) ||
	    memory.count > KSTACK_PROBE_WORDS)
		return -EINVAL;
	words = per_cpu_ptr((void __percpu __force *)(unsigned long)memory.symbol, memory.cpu);
	/* Nothing else on this CPU may see half of it. */
	local_irq_save(flags);
	for (size_t i = 0; i < memory.count; i++) {
		if (put)
			WRITE_ONCE(words[i], memory.words[i]);
		else
			memory.words[i] = READ_ONCE(words[i]);
	}
	local_irq_restore(flags);
	return copy_to_user(user, &memory, sizeof(memory)) ? -EFAULT : 0;
}

static long timed_position(__u64 __user *lag)
{
	u64 ticks = ktime_get_coarse_ns();

	if (put_user(ktime_get_ns() - ticks, lag))
		return -EFAULT;
	return stack_position();
}

/*
 * Timers such as other parts of the kernel have for what can wait until a CPU wakes. There
 * are several, since whatever wakes it runs those that are due, and the next ones remain.
 */
static struct timer_list deferred[KSTACK_PROBE_DEFERRED];

static void do_not_wake(struct timer_list *timer)
{
}

static long arm_deferred(unsigned long apart_ms)
{
	for (size_t i = 0; i < ARRAY_SIZE(deferred); i++)
		mod_timer(&deferred[i], jiffies + msecs_to_jiffies(apart_ms) * (i + 1));
	return 0;
}

/* What a driver does in a copy of a virtual machine, with an identity that is never the same. */
static long tell_of_copy(unsigned long address)
{
	void (*add_vmfork_randomness)(const void *id, size_t bytes) = (void *)address;
	u64 id = ktime_get_ns();

	if (!address)
		return -EINVAL;
	add_vmfork_randomness(&id, sizeof(id));
	return 0;
}

static long kstack_probe_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case KSTACK_PROBE_POSITION:
		return stack_position();
	case KSTACK_PROBE_DISPLACEMENT:
		return stack_displacement(arg);
	case KSTACK_PROBE_LARGEST_OFFSET:
		return largest_offset();
	case KSTACK_PROBE_STATE:
		return generator_state((struct kstack_probe_state __user *)arg);
	case KSTACK_PROBE_TASK_STATE:
		return task_state((struct kstack_probe_task __user *)arg);
	case KSTACK_PROBE_MEMORY:
		return percpu_memory((struct kstack_probe_memory __user *)arg, false);
	case KSTACK_PROBE_PUT_MEMORY:
		return percpu_memory((struct kstack_probe_memory __user *)arg, true);
	case KSTACK_PROBE_TIMED_POSITION:
		return timed_position((__u64 __user *)arg);
	case KSTACK_PROBE_DEFER:
		return arm_deferred(arg);
	case KSTACK_PROBE_COPIED:
		return tell_of_copy(arg);
	default:
		return -ENOTTY;
	}
}

/* Other system calls that tell the position, to those who ask for enough bytes. */
static ssize_t kstack_probe_read(struct file *file, char __user *to, size_t bytes, loff_t *at)
{
	return stack_position();
}

static ssize_t kstack_probe_write(struct file *file, const char __user *from, size_t bytes,
				  loff_t *at)
{
	return stack_position();
}

static loff_t kstack_probe_llseek(struct file *file, loff_t offset, int whence)
{
	return stack_position();
}

static const struct file_operations kstack_probe_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = kstack_probe_ioctl,
	.read = kstack_probe_read,
	.write = kstack_probe_write,
	.llseek = kstack_probe_llseek,
};

static struct miscdevice kstack_probe = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kstack_probe",
	.fops = &kstack_probe_fops,
	.mode = 0600,
};

static int __init kstack_probe_init(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(deferred); i++)
		timer_setup(&deferred[i], do_not_wake, TIMER_DEFERRABLE | TIMER_PINNED);
	return misc_register(&kstack_probe);
}
module_init(kstack_probe_init);

static void __exit kstack_probe_exit(void)
{
	misc_deregister(&kstack_probe);
	for (size_t i = 0; i < ARRAY_SIZE(deferred); i++)
		timer_shutdown_sync(&deferred[i]);
}
module_exit(kstack_probe_exit);

MODULE_DESCRIPTION("Where on the kernel stack a system call runs");
MODULE_LICENSE("GPL");
