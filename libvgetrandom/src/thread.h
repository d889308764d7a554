/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The slots of the calling thread. A call claims one and releases it. Calls nest when signal
 * handlers draw too, and never end when a handler jumps out. So a busy slot is left alone, and the
 * thread uses the next one from then on.
 */
#ifndef VGR_THREAD_H
#define VGR_THREAD_H

#include <features.h>
#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"
#include "pool.h"

enum thread_mode {
	THREAD_NEW,
	/* Keeps its slots from call to call, and gives them back when it ends. */
	THREAD_ATTACHED,
	/* Takes a slot from the pool for each call. */
	THREAD_BORROWS,
};

struct thread {
	/* The slot that is most likely idle at the next call; vgr_no_slot at first. Never NULL. */
	struct slot *ready;
	/* All slots that the thread keeps, newest first. */
	struct slot *owned;
	uint32_t mode;
	/* Calls to serve without memory before the next attempt to map some. */
	uint32_t no_memory;
};

#ifdef __GLIBC__
/* Otherwise glibc may allocate it at the first use, which may be in a signal handler. */
#define EARLY_TLS __attribute__((tls_model("initial-exec")))
#else
/* musl allocates it when it loads the library, and does not load libraries with early TLS. */
#define EARLY_TLS
#endif

extern _Thread_local struct thread vgr_thread EARLY_TLS;

/* Busy for good: without it, the shortest draws would have to look for NULL as well. */
extern struct slot vgr_no_slot __attribute__((visibility("hidden")));

/* Claims the thread's slot in the usual case, where it is idle. NULL: use vgr_thread_claim(). */
static inline struct slot *thread_claim_ready(void)
{
	struct slot *slot = vgr_thread.ready;

	if (unlikely(READ_ONCE(slot->busy)))
		return NULL;
	WRITE_ONCE(slot->busy, 1);
	signal_fence();
	return slot;
}

/* Releases a slot that thread_claim_ready() returned. */
static inline void thread_release_ready(struct slot *slot)
{
	signal_fence();
	WRITE_ONCE(slot->busy, 0);
}

/* Returns an unused slot of the calling thread, or NULL: use system calls. */
struct slot *vgr_thread_claim(void);

/* Releases a slot that vgr_thread_claim() returned. */
void vgr_thread_release(struct slot *slot);

/* Whether the next call will find a slot that the thread already has. */
bool vgr_thread_has_idle(void);

/* Whether the next call will borrow a slot. */
bool vgr_thread_borrows(void);

/*
 * Makes the calling thread keep its slots even if libc will not tell when it ends. Not for signal
 * handlers.
 */
void vgr_thread_attach(void);

/* Gives back all slots of the calling thread. Not for signal handlers. */
void vgr_thread_detach(void);

#endif
