// SPDX-License-Identifier: GPL-2.0
/*
 * Attacks within the kernel that LKDTM does not have, or of which it only prints a
 * judgement. Write an attack's name to /proc/temper_probe; then read how many tries it
 * made, and how many of them landed.
 */
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/math.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#define PATTERN 0xab
#define TRIES   64
#define SIZE    512

struct tally {
	long tries;
	long landed;
};

static void count(struct tally *tally, bool landed)
{
	tally->tries++;
	tally->landed += landed;
}

/*
 * Whether more of the pattern is left than chance explains: the word or two that an
 * allocator keeps in a free object may be any, and so may the bytes in them.
 */
static bool pattern_left(const u8 *memory, size_t size)
{
	size_t kept = 0;

	for (size_t i = 0; i < size; i++)
		kept += READ_ONCE(memory[i]) == PATTERN;
	return kept >= 2 * sizeof(long);
}

/* Does memory from the slab allocator still hold what it held before it was freed? */
static void slab_stale(struct tally *tally)
{
	for (int i = 0; i < TRIES; i++) {
		u8 *before = kmalloc(SIZE, GFP_KERNEL), *after;

		if (!before)
			return;
		memset(before, PATTERN, SIZE);
		OPTIMIZER_HIDE_VAR(before);
		kfree(before);
		after = kmalloc(SIZE, GFP_KERNEL);
		if (after == before)
			count(tally, pattern_left(after, SIZE));
		kfree(after);
	}
}

static void page_stale(struct tally *tally)
{
	for (int i = 0; i < TRIES; i++) {
		u8 *before = (u8 *)__get_free_page(GFP_KERNEL), *after;

		if (!before)
			return;
		memset(before, PATTERN, PAGE_SIZE);
		OPTIMIZER_HIDE_VAR(before);
		free_page((unsigned long)before);
		after = (u8 *)__get_free_page(GFP_KERNEL);
		if (after == before)
			count(tally, pattern_left(after, PAGE_SIZE));
		free_page((unsigned long)after);
	}
}

/* Can what was freed still be read where it was? */
static void slab_freed(struct tally *tally)
{
	for (int i = 0; i < TRIES; i++) {
		u8 *memory = kmalloc(SIZE, GFP_KERNEL);

		if (!memory)
			return;
		memset(memory, PATTERN, SIZE);
		OPTIMIZER_HIDE_VAR(memory);
		kfree(memory);
		count(tally, pattern_left(memory, SIZE));
	}
}

static void page_freed(struct tally *tally)
{
	for (int i = 0; i < TRIES; i++) {
		u8 *memory = (u8 *)__get_free_page(GFP_KERNEL);

		if (!memory)
			return;
		memset(memory, PATTERN, PAGE_SIZE);
		OPTIMIZER_HIDE_VAR(memory);
		free_page((unsigned long)memory);
		count(tally, pattern_left(memory, PAGE_SIZE));
	}
}

static void constructed(void *object)
{
}

/* Is the object that a new cache gives next as far from the last as that was before? */
static void freelist_order(struct tally *tally)
{
	/* A constructor keeps it from being merged with a cache that was in use. */
	struct kmem_cache *cache = kmem_cache_create("temper_order", 256, 0, 0, constructed);
	static u8 *objects[TRIES];

	if (!cache)
		return;
	for (int i = 0; i < TRIES; i++) {
		objects[i] = kmem_cache_alloc(cache, GFP_KERNEL);
		if (i >= 2)
			count(tally,
			      objects[i] - objects[i - 1] == objects[i - 1] - objects[i - 2]);
	}
	for (int i = 0; i < TRIES; i++)
		if (objects[i])
			kmem_cache_free(cache, objects[i]);
	kmem_cache_destroy(cache);
}

/*
 * Code of many places: RANDOM_KMALLOC_CACHES chooses by the place. The declaration at the
 * end takes the semicolon.
 */
#define PLACE(n)                                                                                   \
	static noinline void *place_##n(void)                                                      \
	{                                                                                          \
		void *memory = kmalloc(SIZE, GFP_KERNEL);                                          \
                                                                                                   \
		OPTIMIZER_HIDE_VAR(memory);                                                        \
		return memory;                                                                     \
	}                                                                                          \
	static void *place_##n(void)

PLACE(0);
PLACE(1);
PLACE(2);
PLACE(3);
PLACE(4);
PLACE(5);
PLACE(6);
PLACE(7);
PLACE(8);
PLACE(9);
PLACE(10);
PLACE(11);
PLACE(12);
PLACE(13);
PLACE(14);
PLACE(15);
PLACE(16);

static void *(*const places[])(void) = {
	place_0, place_1,  place_2,  place_3,  place_4,  place_5,  place_6,  place_7,  place_8,
	place_9, place_10, place_11, place_12, place_13, place_14, place_15, place_16,
};

/* Does one place get the memory that another has just freed? */
static void kmalloc_places(struct tally *tally)
{
	for (size_t i = 1; i < ARRAY_SIZE(places); i++) {
		void *freed = places[0](), *taken;

		kfree(freed);
		taken = places[i]();
		count(tally, freed && taken == freed);
		kfree(taken);
	}
}

/* Does one cache get the object that another of the same size has just freed? */
static void slab_merge(struct tally *tally)
{
	struct kmem_cache *one = kmem_cache_create("temper_one", SIZE, 0, 0, NULL);
	struct kmem_cache *other = kmem_cache_create("temper_other", SIZE, 0, 0, NULL);

	for (int i = 0; one && other && i < TRIES; i++) {
		void *freed = kmem_cache_alloc(one, GFP_KERNEL), *taken;

		OPTIMIZER_HIDE_VAR(freed);
		kmem_cache_free(one, freed);
		taken = kmem_cache_alloc(other, GFP_KERNEL);
		count(tally, taken == freed);
		kmem_cache_free(other, taken);
	}
	kmem_cache_destroy(one);
	kmem_cache_destroy(other);
}

/* Is the largest block that the page allocator gives next beside the last? */
static void page_order(struct tally *tally)
{
	static struct page *pages[TRIES];

	for (int i = 0; i < TRIES / 4; i++) {
		pages[i] = alloc_pages(GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN, MAX_PAGE_ORDER);
		if (i && pages[i] && pages[i - 1])
			count(tally, abs(page_to_pfn(pages[i]) - page_to_pfn(pages[i - 1])) ==
					     1L << MAX_PAGE_ORDER);
	}
	for (int i = 0; i < TRIES / 4; i++)
		if (pages[i])
			__free_pages(pages[i], MAX_PAGE_ORDER);
}

/*
 * Does a copy to user space go on beyond memory of vmalloc()? The page in user space
 * goes with the process.
 */
static void usercopy_vmalloc(struct tally *tally)
{
	u8 *memory = vmalloc(PAGE_SIZE);
	unsigned long user =
		vm_mmap(NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE, 0);
	volatile size_t size = PAGE_SIZE;

	if (memory && user < TASK_SIZE)
		count(tally, !copy_to_user((void __user *)user, memory + PAGE_SIZE / 2, size));
	vfree(memory);
}

/*
 * Can a constant of the kernel itself be written? LKDTM has its own in a module, whose
 * memory is protected elsewhere. It writes what is there.
 */
static void write_constant(struct tally *tally)
{
	volatile char *constant = (volatile char *)hex_asc;

	*constant = *constant;
	count(tally, true);
}

static void saturates(struct tally *tally, const refcount_t *reference)
{
	count(tally, refcount_read(reference) != REFCOUNT_SATURATED);
}

static void refcount_inc_overflow(struct tally *tally)
{
	refcount_t reference = REFCOUNT_INIT(REFCOUNT_MAX);

	refcount_inc(&reference);
	saturates(tally, &reference);
}

static void refcount_add_overflow(struct tally *tally)
{
	refcount_t reference = REFCOUNT_INIT(REFCOUNT_MAX);

	refcount_add(6, &reference);
	saturates(tally, &reference);
}

static void refcount_inc_not_zero_overflow(struct tally *tally)
{
	refcount_t reference = REFCOUNT_INIT(REFCOUNT_MAX);

	if (refcount_inc_not_zero(&reference))
		saturates(tally, &reference);
}

static void refcount_inc_zero(struct tally *tally)
{
	refcount_t reference = REFCOUNT_INIT(0);

	refcount_inc(&reference);
	saturates(tally, &reference);
}

static void refcount_add_zero(struct tally *tally)
{
	refcount_t reference = REFCOUNT_INIT(0);

	refcount_add(3, &reference);
	saturates(tally, &reference);
}

static void refcount_dec_zero(struct tally *tally)
{
	refcount_t reference = REFCOUNT_INIT(1);

	refcount_dec(&reference);
	saturates(tally, &reference);
}

static void refcount_dec_negative(struct tally *tally)
{
	refcount_t reference = REFCOUNT_INIT(0);

	refcount_dec(&reference);
	saturates(tally, &reference);
}

static void refcount_sub_negative(struct tally *tally)
{
	refcount_t reference = REFCOUNT_INIT(2);

	/* Freed, if it returns true: another reference would be to freed memory. */
	if (refcount_sub_and_test(3, &reference))
		count(tally, true);
	else
		saturates(tally, &reference);
}

static noinline void fill_stack(void)
{
	u8 memory[SIZE];

	memset(memory, PATTERN, sizeof(memory));
	barrier_data(memory);
}

static noinline bool stack_keeps(void)
{
	u8 memory[SIZE];
	u8 *seen = memory;

	/* Only a pointer: the compiler must not think that it is written. */
	OPTIMIZER_HIDE_VAR(seen);
	return pattern_left(seen, sizeof(memory));
}

/* Does a variable without a value hold what another function had there? */
static void stack_stale(struct tally *tally)
{
	for (int i = 0; i < TRIES; i++) {
		fill_stack();
		count(tally, stack_keeps());
	}
}

#ifdef CONFIG_X86_64
/*
 * What do functions of the kernel leave in registers? Neither what was there before,
 * nor zero, counts. int_sqrt() is compiled C, and calls nothing.
 */
static void call_used_regs(struct tally *tally)
{
	static unsigned long left[8];
	unsigned long argument = 123456789, function = (unsigned long)int_sqrt;

	asm volatile("movq %[pattern], %%rcx; movq %%rcx, %%rdx; movq %%rcx, %%rsi\n\t"
		     "movq %%rcx, %%r8; movq %%rcx, %%r9; movq %%rcx, %%r10\n\t"
		     "movq %%rcx, %%r11\n\t" ANNOTATE_RETPOLINE_SAFE "call *%[function]\n\t"
		     "movq %%rcx, 0(%[left]); movq %%rdx, 8(%[left])\n\t"
		     "movq %%rsi, 16(%[left]); movq %%rdi, 24(%[left])\n\t"
		     "movq %%r8, 32(%[left]); movq %%r9, 40(%[left])\n\t"
		     "movq %%r10, 48(%[left]); movq %%r11, 56(%[left])"
		     : ASM_CALL_CONSTRAINT, "+D"(argument)
		     : [pattern] "i"(PATTERN), [function] "b"(function), [left] "r"(left)
		     : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
	for (int i = 0; i < ARRAY_SIZE(left); i++)
		count(tally, left[i] && left[i] != PATTERN);
}

static void walk_table(unsigned long *table, int level, bool write, bool execute,
		       struct tally *tally)
{
	for (int i = 0; i < PTRS_PER_PTE; i++) {
		unsigned long entry = READ_ONCE(table[i]);
		bool writes = write && (entry & _PAGE_RW);
		bool executes = execute && !(entry & _PAGE_NX);

		if (!(entry & _PAGE_PRESENT))
			continue;
		if (level == 1 || (level < 4 && (entry & _PAGE_PSE)))
			count(tally, writes && executes);
		else
			walk_table(__va(entry & PTE_PFN_MASK), level - 1, writes, executes, tally);
	}
}

/* Is any memory of the kernel both writable and executable? */
static void write_execute(struct tally *tally)
{
	unsigned long *top = __va(__read_cr3() & CR3_ADDR_MASK);
	int levels = native_read_cr4() & X86_CR4_LA57 ? 5 : 4;

	for (int i = PTRS_PER_PGD / 2; i < PTRS_PER_PGD; i++)
		if (top[i] & _PAGE_PRESENT)
			walk_table(__va(top[i] & PTE_PFN_MASK), levels - 1, top[i] & _PAGE_RW,
				   !(top[i] & _PAGE_NX), tally);
}
#endif

static const struct {
	const char *name;
	void (*attack)(struct tally *tally);
} attacks[] = {
	{ "slab_stale", slab_stale },
	{ "page_stale", page_stale },
	{ "slab_freed", slab_freed },
	{ "page_freed", page_freed },
	{ "freelist_order", freelist_order },
	{ "kmalloc_places", kmalloc_places },
	{ "slab_merge", slab_merge },
	{ "page_order", page_order },
	{ "usercopy_vmalloc", usercopy_vmalloc },
	{ "write_constant", write_constant },
	{ "refcount_inc_overflow", refcount_inc_overflow },
	{ "refcount_add_overflow", refcount_add_overflow },
	{ "refcount_inc_not_zero_overflow", refcount_inc_not_zero_overflow },
	{ "refcount_inc_zero", refcount_inc_zero },
	{ "refcount_add_zero", refcount_add_zero },
	{ "refcount_dec_zero", refcount_dec_zero },
	{ "refcount_dec_negative", refcount_dec_negative },
	{ "refcount_sub_negative", refcount_sub_negative },
	{ "stack_stale", stack_stale },
#ifdef CONFIG_X86_64
	{ "call_used_regs", call_used_regs },
	{ "write_execute", write_execute },
#endif
};

static struct tally last;

static ssize_t probe_write(struct file *file, const char __user *text, size_t size, loff_t *at)
{
	char name[64] = "";

	if (size >= sizeof(name) || copy_from_user(name, text, size))
		return -EINVAL;
	for (int i = 0; i < ARRAY_SIZE(attacks); i++) {
		if (strcmp(name, attacks[i].name))
			continue;
		last = (struct tally){};
		attacks[i].attack(&last);
		return size;
	}
	return -EINVAL;
}

static ssize_t probe_read(struct file *file, char __user *text, size_t size, loff_t *at)
{
	char line[64];
	int length = scnprintf(line, sizeof(line), "%ld %ld\n", last.tries, last.landed);
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
