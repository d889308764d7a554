// SPDX-License-Identifier: GPL-2.0
/*
 * Description: writes to pages that become page tables while memory runs short, and to
 * pages that were the attacker's own and are tables now. It also writes to pages that
 * were tables and are the attacker's own again: these writes are no attack and must
 * land, or the kernel is broken.
 *
 * Usage: reuse PAGES (how many of the attacker's pages must become tables)
 */
#define _GNU_SOURCE
#include <string.h>

#include "kinds.h"
#include "memory.h"
#include "record.h"
#include "tables.h"
#include "write_record.h"

/* What to leave free if memory must not run short. */
#define ENOUGH (16UL << 20)

enum {
	/* A task that fills memory takes one part in this many of what is free at a time. */
	SHARE = 32,
	FEW_TABLES = 8,
	MANY_TABLES = 512,
	/* Made on one CPU before another CPU looks at them. */
	BATCH = 64,
	MOST_TABLES = 32768,
	/* Write to, or report, one in this many. */
	SAMPLED = 16,
	/* Attempts to get former tables back. */
	ATTEMPTS = 5,
	/* Seconds after which memory must have run short, even on a slow machine. */
	DEADLINE = 60,
};

static void attack_page(const struct tables *t, uint64_t page, enum kind kind)
{
	print_write(kind, probe_write(t->probe, direct(t, page)));
}

/* Each peek at a part that small pages map creates a table for that part. */
static uint64_t new_table(const struct tables *t, const char *byte)
{
	peek(byte);
	return find_entry(t, (uintptr_t)byte, PMD).value & ADDRESS_MASK;
}

static void fill(size_t size)
{
	char *memory = reserve_small(size);

	for (size_t i = 0; i < size; i += SMALL)
		touch(memory + i);
}

/* Runs until the kernel kills the task. In the end, tables take most of what is left. */
static void __attribute__((noreturn)) fill_memory(int probe)
{
	struct tables own = own_tables(probe);

	for (;;) {
		size_t unused = free_memory();
		size_t tables = unused > ENOUGH ? FEW_TABLES : MANY_TABLES;
		char *memory = reserve_small(tables * HUGE);

		for (size_t i = 0; i < tables; i++)
			attack_page(&own, new_table(&own, memory + i * HUGE), KIND_PRESSURE);
		fill(unused / SHARE + SMALL);
	}
}

static void be_the_one_to_kill(void)
{
	FILE *file = fopen("/proc/self/oom_score_adj", "w");

	if (!file || fputs("1000", file) < 0 || fclose(file))
		fail("oom_score_adj");
}

static void try_under_pressure(int probe)
{
	pid_t task = start_task();
	int status;

	if (!task) {
		be_the_one_to_kill();
		alarm(DEADLINE);
		fill_memory(probe);
	}
	status = wait_for(task);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return;
	fprintf(stderr, "memory did not run short: wait status %#x\n", (unsigned int)status);
	exit(1);
}

/* Most of the memory, owned by this process. */
struct hoard {
	char *memory;
	size_t size;
	struct pages blocks;
};

static struct hoard hoard_create(const struct tables *t)
{
	size_t unused = free_memory();
	struct hoard h = {
		.size = unused > ENOUGH ? (unused - ENOUGH) / HUGE * HUGE : 0,
	};

	h.memory = reserve_large(h.size + HUGE);
	for (size_t i = 0; i < h.size; i += HUGE) {
		struct table_entry leaf;

		touch(h.memory + i);
		leaf = find_leaf(t, (uintptr_t)h.memory + i);
		if (leaf.level == PMD)
			pages_add(&h.blocks, leaf.value & ADDRESS_MASK & -(uint64_t)HUGE);
	}
	return h;
}

static bool hoard_has(const struct hoard *h, uint64_t page)
{
	return pages_have(&h->blocks, page & -(uint64_t)HUGE);
}

static void hoard_release(const struct hoard *h)
{
	if (h->size && munmap(h->memory, h->size))
		fail("munmap");
}

static void need_to_land(struct kpkeys_try end, uint64_t page, const char *what)
{
	if (end.landed)
		return;
	fprintf(stderr, "0x%lx is %s, but cannot be written\n", page, what);
	exit(1);
}

/* This also makes this CPU cache how the pages were mapped. */
static void write_to_own(const struct tables *t, const struct hoard *h)
{
	for (size_t i = 0; i < h->blocks.count; i++) {
		uint64_t page = h->blocks.addresses[i];

		need_to_land(probe_write(t->probe, direct(t, page)), page, "the process's own");
	}
}

/* Add pages of the hoard that become tables, made on another CPU if there is one. */
static void make_tables(const struct tables *t, const struct hoard *h, size_t wanted,
			struct pages *found)
{
	for (size_t made = 0; made < MOST_TABLES && found->count < wanted; made += BATCH) {
		char *memory = reserve_small(BATCH * (size_t)HUGE);

		move_to_cpu(1);
		for (size_t i = 0; i < BATCH; i++)
			peek(memory + i * HUGE);
		move_to_cpu(0);
		for (size_t i = 0; i < BATCH; i++) {
			uint64_t table = new_table(t, memory + i * HUGE);

			if (hoard_has(h, table))
				pages_add(found, table);
		}
	}
}

static void try_tables(const struct tables *t, const struct pages *found)
{
	for (size_t i = 0; i < found->count; i += SAMPLED)
		attack_page(t, found->addresses[i], KIND_BECOMES_TABLE);
}

/* Former tables, in memory shared with the child that had them. */
struct former {
	size_t count;
	uint64_t pages[];
};

static struct former *former_create(size_t room)
{
	size_t size = sizeof(struct former) + room * sizeof(uint64_t);
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		fail("shared memory");
	return memory;
}

/* Exiting frees the tables. */
static void __attribute__((noreturn)) turn_into_tables(int probe, size_t wanted,
						       struct former *former)
{
	struct tables own = own_tables(probe);
	struct hoard h = hoard_create(&own);
	struct pages found = {};

	write_to_own(&own, &h);
	hoard_release(&h);
	make_tables(&own, &h, wanted, &found);
	try_tables(&own, &found);
	former->count = found.count < wanted ? found.count : wanted;
	memcpy(former->pages, found.addresses, former->count * sizeof(*found.addresses));
	exit(0);
}

/* The kernel frees tables after a while, and keeps freed ones until memory is short. */
static void shrink(void)
{
	FILE *file = fopen("/proc/sys/vm/drop_caches", "w");

	sleep(1);
	if (!file || fputs("2", file) < 0 || fclose(file))
		fail("drop_caches");
}

/* Return how many are the process's own again: all of these must be writable. */
static size_t try_former(int probe, const struct former *former)
{
	struct tables own = own_tables(probe);
	struct hoard h = hoard_create(&own);
	size_t back = 0;

	for (size_t i = 0; i < former->count; i++) {
		uint64_t page = former->pages[i];
		struct kpkeys_try end;

		if (!hoard_has(&h, page))
			continue;
		end = probe_write(probe, direct(&own, page));
		if (back++ % SAMPLED == 0)
			print_write(KIND_FREED, end);
		need_to_land(end, page, "a table no more");
	}
	hoard_release(&h);
	pages_destroy(&h.blocks);
	return back;
}

static void turn_back(int probe, const struct former *former)
{
	size_t back = 0;

	for (size_t i = 0; i < ATTEMPTS && former->count && !back; i++) {
		shrink();
		back = try_former(probe, former);
	}
	fprintf(stderr, "of %zu tables that were, %zu are the process's own\n", former->count,
		back);
	if (former->count && !back)
		exit(1);
}

static void try_reuse(int probe, size_t wanted)
{
	struct former *former = former_create(wanted);
	pid_t task = start_task();

	if (!task)
		turn_into_tables(probe, wanted, former);
	if (wait_for(task))
		fail("the task whose pages become tables");
	turn_back(probe, former);
}

int main(int argc, char **argv)
{
	size_t wanted = samples_wanted(argc, argv);
	int probe = probe_open();

	if (!move_to_cpu(0))
		fail("CPU 0");
	allow_large_pages();
	try_reuse(probe, wanted);
	try_under_pressure(probe);
	return 0;
}
