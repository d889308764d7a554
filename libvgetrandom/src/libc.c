// SPDX-License-Identifier: MIT OR Apache-2.0
#include <pthread.h>
#include <sys/auxv.h>

#include "libc.h"

/* The shared objects work with any libc, so they link to none and use what is there. */
#ifdef VGR_ANY_LIBC
#pragma weak getauxval
#pragma weak pthread_key_create
#pragma weak pthread_key_delete
#pragma weak pthread_setspecific
#define HAVE(function) (function)
#else
#define HAVE(function) true
#endif

enum {
	/* Beyond these, glibc's pthread_setspecific() may call malloc(). */
	KEYS_WITHOUT_MALLOC = 32,
};

static pthread_key_t key;
static bool have_key;

const void *vgr_libc_vdso_image(void)
{
	if (!HAVE(getauxval))
		return LIBC_CANNOT_TELL;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): an integer by nature. */
	return (const void *)getauxval(AT_SYSINFO_EHDR);
}

void vgr_libc_prepare(void (*at_thread_exit)(void *))
{
	have_key = HAVE(pthread_key_create) && HAVE(pthread_key_delete) &&
		   HAVE(pthread_setspecific) && pthread_key_create(&key, at_thread_exit) == 0;
}

void vgr_libc_forget(void)
{
	if (!have_key)
		return;
	have_key = false;
	pthread_key_delete(key);
}

bool vgr_libc_tells_thread_exit(void *argument, enum libc_caller caller)
{
	if (!have_key || (caller == LIBC_CALLER_ANY && key >= KEYS_WITHOUT_MALLOC))
		return false;
	return pthread_setspecific(key, argument) == 0;
}
