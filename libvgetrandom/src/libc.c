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
#pragma weak pthread_atfork
/* What glibc has in its shared object instead. */
#pragma weak __register_atfork
#define HAVE(function) (function)
#else
#define HAVE(function) true
#endif

enum {
	/* Beyond these, glibc's pthread_setspecific() may call malloc(). */
	KEYS_WITHOUT_MALLOC = 32,
};

extern int __register_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void),
			     void *library);

static pthread_key_t key;
static bool have_key, prepared;

const void *vgr_libc_vdso_image(void)
{
	if (!HAVE(getauxval))
		return LIBC_CANNOT_TELL;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): an integer by nature. */
	return (const void *)getauxval(AT_SYSINFO_EHDR);
}

/* Slots that are not given back in a child are a small loss, which nobody need be told of. */
static void prepare_for_forks(void (*at_fork_in_child)(void))
{
	if (HAVE(pthread_atfork))
		(void)pthread_atfork(NULL, NULL, at_fork_in_child);
#ifdef VGR_ANY_LIBC
	else if (HAVE(__register_atfork))
		(void)__register_atfork(NULL, NULL, at_fork_in_child, NULL);
#endif
}

void vgr_libc_prepare(void (*at_thread_exit)(void *), void (*at_fork_in_child)(void))
{
	have_key = HAVE(pthread_key_create) && HAVE(pthread_key_delete) &&
		   HAVE(pthread_setspecific) && pthread_key_create(&key, at_thread_exit) == 0;
	prepare_for_forks(at_fork_in_child);
	prepared = true;
}

bool vgr_libc_is_prepared(void)
{
	return prepared;
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
