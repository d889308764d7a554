// SPDX-License-Identifier: GPL-2.0
/*
 * Description: tries to write to a page table from every context that can run while a
 * thread is in the middle of a section that may write.
 *
 * Usage: level TRIES
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "kpkeys_level.h"
#include "record.h"
#include "symbol.h"
#include "task.h"
#include "warnings.h"
#include "write_record.h"

/* The kernel maps so many bytes of a file at once, if they are in memory. */
enum { AROUND = 16 * 4096 };

/* Return the address of pages of a file that are in memory, but not in page tables. */
static uint64_t map_file(void)
{
	static const char contents[2 * AROUND];
	int file = memfd_create("file", MFD_CLOEXEC);
	char *memory;

	if (file < 0 || write(file, contents, sizeof(contents)) != sizeof(contents))
		fail("a file");
	memory = mmap(NULL, sizeof(contents), PROT_READ, MAP_PRIVATE, file, 0);
	if (memory == MAP_FAILED)
		fail("mmap");
	return ((uintptr_t)memory + AROUND - 1) & -(uint64_t)AROUND;
}

/* Memory that is there. */
static char *map_pages(size_t size)
{
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (memory == MAP_FAILED)
		fail("mmap");
	return memory;
}

/* The module knows no page that would have to be there. */
static uint64_t map_device(int device)
{
	return (uintptr_t)mmap(NULL, 4096, PROT_READ, MAP_SHARED, device, 0);
}

static int try_in_open_section(int device, struct kpkeys_try *end)
{
	int error = ioctl(device, KPKEYS_LEVEL_STAY_IN_SECTION);

	return error ? error : ioctl(device, KPKEYS_LEVEL_TRY, end);
}

static void try_in(int device, struct kpkeys_level_attack attack)
{
	int error = attack.context == KPKEYS_LEVEL_OPEN_SECTION
			    ? try_in_open_section(device, &attack.end)
			    : ioctl(device, KPKEYS_LEVEL_ATTACK, &attack);

	if (!error) {
		print_write((int)attack.context, attack.end);
	} else if (errno == ENXIO) {
		print_inapplicable((int)attack.context);
	} else {
		fprintf(stderr, "context %u: %s\n", attack.context, strerror(errno));
		exit(1);
	}
}

#ifdef __x86_64__
#define CALL(name) "__x64_sys_" #name
#else
#define CALL(name) "__arm64_sys_" #name
#endif

/* The kernel's function, and what it gets; memory and size come first. */
struct call {
	const char *function;
	uint64_t arguments[KPKEYS_LEVEL_ARGUMENTS];
};

static void try_after(int device, struct kpkeys_level_attack attack, struct call call)
{
	attack.call = symbol(call.function);
	memcpy(attack.arguments, call.arguments, sizeof(attack.arguments));
	try_in(device, attack);
}

/* System calls that change entries of page tables, by themselves or by faults. */
static void try_after_calls(int device, struct kpkeys_level_attack attack)
{
	uint64_t old = (uintptr_t)map_pages(AROUND), new = (uintptr_t)map_pages(AROUND);
	const struct call calls[] = {
		{ CALL(madvise), { attack.file, AROUND / 2, MADV_POPULATE_READ } },
		{ CALL(madvise), { old, AROUND, MADV_COLD } },
		{ CALL(madvise), { old, AROUND, MADV_FREE } },
		{ CALL(mprotect), { old, AROUND, PROT_READ } },
		{ CALL(mprotect), { old, AROUND, PROT_READ | PROT_WRITE } },
		{ CALL(mremap), { old, AROUND, AROUND, MREMAP_MAYMOVE | MREMAP_FIXED, new } },
		{ CALL(madvise), { new, AROUND / 2, MADV_DONTNEED } },
		{ CALL(munmap), { new, AROUND } },
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		try_after(device, attack, calls[i]);
}

/* In a process of its own, so that a level that is stuck ends with the process. */
static void try_once(int device, struct kpkeys_level_attack attack)
{
	pid_t child = start_task();
	int status;

	if (child == 0) {
		attack.file = map_file();
		attack.fault = map_device(device);
		if (attack.context == KPKEYS_LEVEL_AFTER_CALL)
			try_after_calls(device, attack);
		else
			try_in(device, attack);
		while (wait(NULL) > 0)
			;
		_exit(0);
	}
	status = wait_for(child);
	if (!status)
		return;
	fprintf(stderr, "context %u ended with wait status %#x\n", attack.context,
		(unsigned int)status);
	exit(1);
}

/* Whether the attack is meant to make the kernel warn, as its proof declares. */
static bool warns(unsigned int context)
{
	return context == KPKEYS_LEVEL_WARNING || context == KPKEYS_LEVEL_OPEN_REGISTER ||
	       context == KPKEYS_LEVEL_OPEN_SECTION || context == KPKEYS_LEVEL_LEAKY_INTERRUPT;
}

/* Not everywhere is there a breakpoint that is no warning, or an NMI. */
#ifdef __x86_64__
enum { HAS_ALL = true };
#else
enum { HAS_ALL = false };
#endif

static bool applies(unsigned int context)
{
	return HAS_ALL || (context != KPKEYS_LEVEL_BREAKPOINT && context != KPKEYS_LEVEL_NMI);
}

static void try_all(int device, struct kpkeys_level_attack attack, size_t tries, bool warning)
{
	for (attack.context = 0; attack.context < KPKEYS_LEVEL_CONTEXTS; attack.context++)
		for (size_t i = 0; i < tries && warns(attack.context) == warning; i++)
			if (applies(attack.context))
				try_once(device, attack);
}

int main(int argc, char **argv)
{
	long unmeant;
	size_t tries = samples_wanted(argc, argv);
	struct kpkeys_level_attack attack = {
		.init_mm = symbol("init_mm"),
		.user_mode_thread = symbol("user_mode_thread"),
	};
	int device = open("/dev/kpkeys_level", O_RDWR | O_CLOEXEC);

	if (device < 0)
		fail("/dev/kpkeys_level");
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2 || !move_to_cpu(0)) {
		fputs("two CPUs are needed\n", stderr);
		return UNSUPPORTED;
	}
	try_all(device, attack, tries, false);
	/* Others excuse these from now on, and some the kernel prints only once. */
	unmeant = warnings();
	print_samples("warnings", &unmeant, 1);
	try_all(device, attack, tries, true);
	return 0;
}
