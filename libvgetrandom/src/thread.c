// SPDX-License-Identifier: MIT OR Apache-2.0
#include <stdatomic.h>

#include "config.h"
#include "libc.h"
#include "thread.h"

enum {
	/*
	 * How many of the newest slots to search for an idle one. The others belong to calls that
	 * were left by jumps, or to handlers nested that deep.
	 */
	LOOK_AT = 8,
	/* Calls served by system calls before the next attempt to map memory, itself one. */
	NO_MEMORY_CALLS = 256,
};

struct slot vgr_no_slot = { .busy = 1 };
_Thread_local struct thread vgr_thread EARLY_TLS = { .ready = &vgr_no_slot };

/*
 * Takes all slots out of reach of signal handlers before it gives any back. A slot that a handler
 * keeps in between is not among them, and stays the thread's.
 */
static void give_all(void)
{
	struct slot *slot = __atomic_exchange_n(&vgr_thread.owned, NULL, __ATOMIC_RELAXED);

	signal_fence();
	WRITE_ONCE(vgr_thread.ready, &vgr_no_slot);
	signal_fence();
	while (slot) {
		struct slot *next = slot->next;

		vgr_pool_give(slot);
		slot = next;
	}
}

/* Other destructors, which libc calls after this one, may still draw. */
static void at_thread_exit(void *unused)
{
	(void)unused;
	vgr_thread.mode = THREAD_BORROWS;
	signal_fence();
	give_all();
}

/* Two threads hardly ever have the same, and lose no more by that than slots after a fork. */
static uint32_t own_name(void)
{
	return (uint32_t)((uintptr_t)&vgr_thread / sizeof(vgr_thread));
}

/* The child lacks the parent's other threads, and nothing else gives back what they had. */
static void at_fork_in_child(void)
{
	vgr_pool_give_others(own_name());
}

/* Runs before constructors that draw: those without a number come last. */
__attribute__((constructor(101))) static void prepare(void)
{
	vgr_libc_prepare(at_thread_exit, at_fork_in_child);
	vgr_config_need();
	/* An earlier constructor may have called vgetrandom_prewarm(). */
	vgr_thread.mode = THREAD_NEW;
}

/*
 * Threads may end after the program closed the plug-in that the library is linked into. The slots
 * that they hold then stay mapped. Runs after destructors that draw.
 */
__attribute__((destructor(101))) static void forget(void)
{
	vgr_libc_forget();
}

/*
 * A signal handler in between does the same, and may even never return: that is harmless. Before
 * libc is prepared, the thread stays new, so that it asks again.
 */
static void attach(enum libc_caller caller)
{
	if (vgr_libc_tells_thread_exit(&vgr_thread, caller) || caller == LIBC_CALLER_ORDINARY)
		vgr_thread.mode = THREAD_ATTACHED;
	else if (vgr_libc_is_prepared())
		vgr_thread.mode = THREAD_BORROWS;
}

void vgr_thread_attach(void)
{
	if (vgr_thread.mode != THREAD_ATTACHED)
		attach(LIBC_CALLER_ORDINARY);
}

void vgr_thread_detach(void)
{
	vgr_thread.mode = THREAD_NEW;
	signal_fence();
	give_all();
}

/* Atomic with respect to a signal handler that also pushes. */
static void push_owned(struct slot *slot)
{
	slot->next = READ_ONCE(vgr_thread.owned);
	while (!__atomic_compare_exchange_n(&vgr_thread.owned, &slot->next, slot, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static struct slot *find_idle(void)
{
	struct slot *slot = READ_ONCE(vgr_thread.owned);

	for (int i = 0; slot && i < LOOK_AT; i++, slot = slot->next) {
		if (!READ_ONCE(slot->busy))
			return slot;
	}
	return NULL;
}

bool vgr_thread_has_idle(void)
{
	return find_idle();
}

bool vgr_thread_borrows(void)
{
	if (vgr_thread.mode == THREAD_NEW)
		attach(LIBC_CALLER_ANY);
	return vgr_thread.mode != THREAD_ATTACHED;
}

static struct slot *take(void)
{
	uint32_t no_memory = READ_ONCE(vgr_thread.no_memory);
	struct slot *slot;

	/* Read once: a signal handler that also counts must not make it wrap below zero. */
	if (no_memory) {
		WRITE_ONCE(vgr_thread.no_memory, no_memory - 1);
		return NULL;
	}
	slot = vgr_pool_take();
	if (slot)
		slot->taker = own_name();
	else
		vgr_thread.no_memory = NO_MEMORY_CALLS;
	return slot;
}

static struct slot *claim_owned(void)
{
	struct slot *slot = find_idle();
	bool found = slot;

	if (!found)
		slot = take();
	if (!slot)
		return NULL;
	WRITE_ONCE(slot->busy, 1);
	signal_fence();
	if (!found)
		push_owned(slot);
	WRITE_ONCE(vgr_thread.ready, slot);
	return slot;
}

static struct slot *claim_borrowed(void)
{
	struct slot *slot = take();

	if (slot) {
		slot->borrowed = 1;
		WRITE_ONCE(slot->busy, 1);
		signal_fence();
	}
	return slot;
}

struct slot *vgr_thread_claim(void)
{
	vgr_config_need();
	if (!vgr_config.vdso)
		return NULL;
	return vgr_thread_borrows() ? claim_borrowed() : claim_owned();
}

void vgr_thread_release(struct slot *slot)
{
	thread_release_ready(slot);
	if (slot->borrowed) {
		slot->borrowed = 0;
		vgr_pool_give(slot);
	}
}
