// SPDX-License-Identifier: GPL-2.0
/*
 * Description: an init that tries Linux's protection keys of user space on arm64.
 *
 * Prints for each overlay whether a page with it can be read and written, and the code
 * of the signal (SEGV_PKUERR: 4) if it cannot.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <unistd.h>

#define POR_EL0 "S3_3_C10_C2_4"

static sigjmp_buf denied;
static volatile int code;

static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	code = info->si_code;
	siglongjmp(denied, 1);
}

static void set_overlay(long key, unsigned long overlay)
{
	unsigned long all;

	__asm__ volatile("mrs %0, " POR_EL0 : "=r"(all));
	all = (all & ~(0xful << 4 * key)) | overlay << 4 * key;
	__asm__ volatile("msr " POR_EL0 ", %0\n\tisb" ::"r"(all) : "memory");
}

/* A handler runs with the overlays that Linux gives it, and so does what follows. */
static int tried(volatile char *page, long key, unsigned long overlay, int write)
{
	code = 0;
	set_overlay(key, overlay);
	if (sigsetjmp(denied, 1))
		return code;
	if (write)
		*page = 1;
	else
		(void)*page;
	return 0;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	int access = PROT_READ | PROT_WRITE;
	char *page = mmap(NULL, 4096, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long key = syscall(SYS_pkey_alloc, 0, 0);

	sigaction(SIGSEGV, &action, NULL);
	*page = 1;
	if (key < 0 || syscall(SYS_pkey_mprotect, page, 4096, access, key))
		perror("pkeys");
	else
		for (unsigned long overlay = 0; overlay < 8; overlay++)
			printf("overlay %lu: read %d, write %d\n", overlay,
			       tried(page, key, overlay, 0), tried(page, key, overlay, 1));
	fflush(stdout);
	reboot(RB_POWER_OFF);
}
