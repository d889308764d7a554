/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The slots of the calling thread. A call claims one and releases it. Calls nest, when signal
 * handlers draw as well, and some never end, when a handler jumps out: a slot that is busy is
 * therefore left alone, and the next one is the thread's from then on.
 */
#ifndef VGR_THREAD_H
#define VGR_THREAD_H

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
	/* What the next call will most likely find idle; NULL at first. */
	struct slot *ready;
	/* All that are kept, the newest first. */
	struct slot *owned;
	uint32_t mode;
	/* Calls to be served without memory before it is asked for again. */
	uint32_t no_memory;
};

extern _Thread_local struct thread thread __attribute__((tls_model("initial-exec")));

/* Claims the thread's slot as it mostly is: idle. NULL: thread_claim() knows more. */
static inline struct slot *thread_claim_ready(void)
{
	struct slot *slot = thread.ready;

	if (unlikely(!slot) || unlikely(READ_ONCE(slot->busy)))
		return NULL;
	WRITE_ONCE(slot->busy, 1);
	signal_fence();
	return slot;
}

/* The counterpart. */
static inline void thread_release_ready(struct slot *slot)
{
	signal_fence();
	WRITE_ONCE(slot->busy, 0);
}

/* Returns a slot of the calling thread that is not in use, or NULL: use system calls. */
struct slot *thread_claim(void);

/* The counterpart. */
void thread_release(struct slot *slot);

/* Whether the next call will find a slot that the thread has already. */
bool thread_has_idle(void);

/*
 * Makes the calling thread keep its slots even if libc will not tell when it ends. Not for signal
 * handlers.
 */
void thread_attach(void);

/* Gives back all slots of the calling thread. Not for signal handlers. */
void thread_detach(void);

#endif
