// SPDX-License-Identifier: GPL-2.0
/*
 * Description: writes to page tables of all kinds, as an attacker with a kernel bug
 * that writes one word anywhere would: to those of the own process, of the kernel and
 * of other processes, wherever and however they were made.
 *
 * Usage: writes TRIES (for kinds with more than one table)
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <string.h>

#include "attack.h"
#include "kinds.h"
#include "memory.h"
#include "record.h"

/* The key need not stop what nobody can write. */
static bool constant(const struct tables *t, uint64_t table)
{
	return t->places.constant_top &&
	       (table == t->places.kernel_top || table == t->places.trampoline_top);
}

static void attack_all(const struct tables *t, const struct pages *found, enum kind kind)
{
	for (size_t i = 0; i < found->count; i++)
		if (!constant(t, found->addresses[i]))
			print_write(kind, probe_write(t->probe, direct(t, found->addresses[i])));
}

static void try_own(const struct tables *t, size_t tries)
{
	for (size_t i = 0; i < tries; i++) {
		uint64_t address = new_space();
		struct table_entry top = find_entry(t, address, PGD);

		for (enum level level = PTE; level <= PGD; level++)
			attack(t, find_entry(t, address, level), KIND_USER_PTE + level);
		if (!t->places.user_top)
			continue;
		top.address += t->places.user_top;
		attack(t, top, KIND_PTI_USER_PGD);
	}
}

static void try_other_cpu(const struct tables *t, size_t tries)
{
	for (size_t i = 0; i < tries && move_to_cpu(1); i++) {
		uint64_t address = new_space();

		move_to_cpu(0);
		for (enum level level = PTE; level < PGD; level++)
			attack(t, find_entry(t, address, level), KIND_OTHER_CPU);
	}
}

/* Freeing one small page in it splits a large page of the process. */
static void try_split(const struct tables *t, size_t tries)
{
	for (size_t i = 0; i < tries; i++) {
		char *memory = reserve_large(HUGE);

		touch(memory);
		if (find_leaf(t, (uintptr_t)memory).level != PMD) {
			fputs("no large page for the process\n", stderr);
			continue;
		}
		if (madvise(memory + SMALL, SMALL, MADV_DONTNEED))
			fail("madvise");
		attack(t, find_entry(t, (uintptr_t)memory, PTE), KIND_SPLIT);
	}
}

/* The kernel hands out what it has split already as well. */
enum { BLOCKS_PER_TRY = 4 };

/* Split large pages of the direct map. Keep each block, so that the next one differs. */
static void try_split_of_kernel(const struct tables *t, size_t tries)
{
	size_t split = 0;

	for (size_t i = 0; i < BLOCKS_PER_TRY * tries && split < tries; i++) {
		int maker = probe_open();
		uint64_t block = probe_make(maker, KPKEYS_PROBE_BLOCK);

		if (!block)
			break;
		if (find_leaf(t, block).level == PTE)
			continue;
		if (ioctl(maker, KPKEYS_PROBE_SPLIT))
			fail("split");
		attack(t, find_entry(t, block, PTE), KIND_KERNEL_SPLIT);
		split++;
	}
	if (split < tries)
		fprintf(stderr, "%zu of %zu large pages for the kernel\n", split, tries);
}

/* The kernel maps what is large and aligned by the largest pages that the CPU has. */
static void try_gigabytes(const struct tables *t, size_t tries)
{
	uint64_t far = probe_make(probe_open(), KPKEYS_PROBE_FAR), size = level_size(t, PUD);

	for (size_t i = 0; i < tries && far; i++) {
		struct table_entry leaf = find_leaf(t, far + i * size % KPKEYS_PROBE_FAR_SIZE);

		if (leaf.level == PUD)
			attack(t, leaf, KIND_GIGABYTE);
		else
			fputs("no page of 1 GiB for the kernel\n", stderr);
	}
}

static void try_child(const struct tables *t)
{
	struct tables child = *t;
	struct pages found = {};
	int top[2], end[2];
	pid_t task;

	if (pipe(top) || pipe(end))
		fail("pipe");
	task = start_task();
	if (!task) {
		child = own_tables(t->probe);
		close(end[1]);
		if (write(top[1], &child.top, sizeof(child.top)) < 0 || read(end[0], &child, 1))
			_exit(1);
		_exit(0);
	}
	if (read(top[0], &child.top, sizeof(child.top)) != sizeof(child.top))
		fail("top table of the child");
	find_tables(&child, child.top, PGD, 0, USER_END, &found);
	attack_all(&child, &found, KIND_FORK);
	close(end[1]);
	wait_for(task);
	pages_destroy(&found);
}

struct symbols {
	uint64_t init_mm;
	uint64_t poking_mm;
	uint64_t text;
	uint64_t end;
};

static struct symbols read_symbols(void)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	struct symbols found = {};
	struct {
		const char *name;
		uint64_t *address;
	} wanted[] = {
		{ "init_mm", &found.init_mm },
		{ "poking_mm", &found.poking_mm },
		{ "_text", &found.text },
		{ "_end", &found.end },
	};
	char line[512], name[256];
	uint64_t address;

	if (!file)
		fail("/proc/kallsyms");
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%" SCNx64 " %*c %255s", &address, name) != 2)
			continue;
		for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
			if (!strcmp(name, wanted[i].name))
				*wanted[i].address = address;
	}
	fclose(file);
	if (!found.init_mm)
		fputs("no init_mm: the kernel's own tables are not found\n", stderr);
	return found;
}

/* The tables of a struct mm_struct of the kernel; without a top if there is no such. */
static struct tables tables_of(const struct tables *kernel, uint64_t mm)
{
	struct tables t = *kernel;
	uint64_t pgd = mm ? read_word(kernel, mm + kernel->places.mm_pgd) : 0;

	t.top = pgd ? physical_address(kernel, pgd) : 0;
	return t;
}

static void try_kernel_levels(const struct tables *t, size_t tries)
{
	uint64_t memory = t->places.memory;

	for (size_t i = 0; i < tries; i++) {
		attack(t, find_entry(t, memory + i * level_size(t, PGD), PGD), KIND_KERNEL_PGD);
		attack(t, find_entry(t, memory + i * level_size(t, PUD), PUD), KIND_KERNEL_PUD);
		attack(t, find_entry(t, memory + i * level_size(t, PMD), PMD), KIND_KERNEL_PMD);
	}
}

/* The kernel makes the tables that map the beginning of memory before it has an allocator. */
static void try_kernel_places(const struct tables *t, size_t tries)
{
	uint64_t memory = t->places.memory, number = (memory - t->places.direct_map) / PAGE_SIZE;
	uint64_t descriptors = t->places.struct_pages + number * PAGE_DESCRIPTOR_SIZE;

	for (size_t i = 0; i < tries; i++) {
		uint64_t nth = i * PAGE_SIZE;

		attack(t, find_leaf(t, descriptors + nth), KIND_VMEMMAP);
		attack(t, find_leaf(t, t->places.fixmap - nth), KIND_FIXMAP);
		attack(t, find_leaf(t, memory + nth), KIND_EARLY);
	}
}

/* Large enough to need new tables. Keep the area, so that the next one differs. */
static void try_area(const struct tables *t, unsigned long request, size_t tries, enum kind kind)
{
	uint64_t area = probe_make(probe_open(), request);

	if (!area)
		fail("vmalloc");
	for (size_t i = 0; i < tries; i++)
		attack(t, find_leaf(t, area + i * HUGE % KPKEYS_PROBE_AREA_SIZE), kind);
}

/* Tables in the kernel image also have an address in the image's own mapping. */
static void try_image(const struct tables *t, const struct pages *found, struct symbols s)
{
	uint64_t image = physical_address(t, s.text), word;

	for (size_t i = 0; i < found->count; i++) {
		uint64_t offset = found->addresses[i] - image;

		if (found->addresses[i] < image || offset >= s.end - s.text ||
		    constant(t, found->addresses[i]))
			continue;
		if (probe_read(t->probe, s.text + offset, &word, sizeof(word)))
			print_write(KIND_IMAGE_ALIAS, probe_write(t->probe, s.text + offset));
	}
}

/* All tables of the kernel, including those that it uses to patch its code and to enter. */
static void try_boot(const struct tables *kernel, const struct tables *poking, struct symbols s)
{
	uint64_t pair = kernel->places.user_top, trampoline = kernel->places.trampoline_top;
	struct pages found = {};

	find_tables(kernel, kernel->top, PGD, KERNEL_FIRST, ENTRIES, &found);
	if (pair)
		find_tables(kernel, kernel->top + pair, PGD, KERNEL_FIRST, ENTRIES, &found);
	if (trampoline)
		find_tables(kernel, trampoline, PGD, KERNEL_FIRST, ENTRIES, &found);
	if (poking->top)
		find_tables(poking, poking->top, PGD, 0, USER_END, &found);
	attack_all(kernel, &found, KIND_BOOT);
	try_image(kernel, &found, s);
	pages_destroy(&found);
}

static void try_kernel(int probe, size_t tries)
{
	struct symbols symbols = read_symbols();
	struct tables running = kernels_tables(probe);
	struct tables kernel = tables_of(&running, symbols.init_mm);
	struct tables poking = tables_of(&running, read_word(&running, symbols.poking_mm));

	if (!kernel.top)
		return;
	/* First, before the program makes new tables. */
	try_boot(&kernel, &poking, symbols);
	try_kernel_levels(&kernel, tries);
	try_kernel_places(&kernel, tries);
	try_area(&kernel, KPKEYS_PROBE_AREA, tries, KIND_VMALLOC_PTE);
	try_area(&kernel, KPKEYS_PROBE_AREA_BY_THREAD, tries, KIND_KTHREAD);
	try_split_of_kernel(&kernel, tries);
	try_gigabytes(&kernel, tries);
}

int main(int argc, char **argv)
{
	size_t tries = samples_wanted(argc, argv);
	struct tables own = own_tables(probe_open());

	if (!move_to_cpu(0))
		fail("CPU 0");
	allow_large_pages();
	try_kernel(own.probe, tries);
	try_own(&own, tries);
	try_split(&own, tries);
	try_child(&own);
	try_other_cpu(&own, tries);
	return 0;
}
