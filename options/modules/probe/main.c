// SPDX-License-Identifier: GPL-2.0
/*
 * Attacks within the kernel that LKDTM does not have, or of which it only prints a
 * judgement. Write an attack's name to /proc/temper_probe; then read how many tries it
 * made, how many of them landed, whether it wants to be called again, and what it saw.
 */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "probe.h"

static const struct attack *const attacks[] = {
	list_attacks,      heap_attacks,     page_attacks,  memory_attacks,
	reference_attacks, register_attacks, stack_attacks, table_attacks,
};

/*
 * Whether more of the pattern is left than chance explains: the word or two that an
 * allocator keeps in a free object may be any, and so may the bytes in them.
 */
bool pattern_left(const u8 *memory, size_t size)
{
	size_t kept = 0;

	for (size_t i = 0; i < size; i++)
		kept += READ_ONCE(memory[i]) == PATTERN;
	return kept >= 2 * sizeof(long);
}

unsigned long user_page(void)
{
	unsigned long address =
		vm_mmap(NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE, 0);

	if (address >= TASK_SIZE || clear_user((void __user *)address, PAGE_SIZE))
		return 0;
	return address;
}

static const struct attack *find(const char *name)
{
	for (int i = 0; i < ARRAY_SIZE(attacks); i++)
		for (const struct attack *each = attacks[i]; each->name; each++)
			if (!strcmp(name, each->name))
				return each;
	return NULL;
}

static struct tally last;
/* The attack that goes on in the next call; NULL: none does. */
static const struct attack *going_on;

static ssize_t probe_write(struct file *file, const char __user *text, size_t size, loff_t *at)
{
	char name[64] = "";
	const struct attack *found;

	if (size >= sizeof(name) || copy_from_user(name, text, size))
		return -EINVAL;
	found = find(name);
	if (!found)
		return -EINVAL;
	if (found != going_on)
		last = (struct tally){};
	/* Not, if it ends this process. */
	going_on = NULL;
	found->attack(&last);
	if (last.again)
		going_on = found;
	return size;
}

static ssize_t probe_read(struct file *file, char __user *text, size_t size, loff_t *at)
{
	char line[64];
	int length = scnprintf(line, sizeof(line), "%ld %ld %d %ld\n", last.tries, last.landed,
			       last.again, last.seen);
	loff_t start = 0;

	return simple_read_from_buffer(text, size, &start, line, length);
}

static const struct proc_ops probe_ops = {
	.proc_write = probe_write,
	.proc_read = probe_read,
};

static int __init probe_init(void)
{
	return proc_create("temper_probe", 0600, NULL, &probe_ops) ? 0 : -ENOMEM;
}

static void __exit probe_exit(void)
{
	remove_proc_entry("temper_probe", NULL);
}

module_init(probe_init);
module_exit(probe_exit);
MODULE_DESCRIPTION("Attacks on hardening options");
MODULE_LICENSE("GPL");
