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

struct slot no_slot = { .busy = 1 };
_Thread_local struct thread thread = { .ready = &no_slot };

/*
 * Takes all slots out of reach of signal handlers before it gives any back. A slot that a handler
 * keeps in between is not among them, and stays the thread's.
 */
static void give_all(void)
{
	struct slot *slot = __atomic_exchange_n(&thread.owned, NULL, __ATOMIC_RELAXED);

	signal_fence();
	WRITE_ONCE(thread.ready, &no_slot);
	signal_fence();
	while (slot) {
		struct slot *next = slot->next;

		pool_give(slot);
		slot = next;
	}
}

/* Other destructors, which libc calls after this one, may still draw. */
static void at_thread_exit(void *unused)
{
	(void)unused;
	thread.mode = THREAD_BORROWS;
	signal_fence();
	give_all();
}

/* Two threads hardly ever have the same, and lose no more by that than slots after a fork. */
static uint32_t own_name(void)
{
	return (uint32_t)((uintptr_t)&thread / sizeof(thread));
}

/*
 * The child lacks the parent's other threads, and nothing else gives back what they had. If a
 * signal handler forks while this thread takes a slot, all stay taken: that costs address space,
 * but no memory, because a fork wipes pages by not mapping them.
 */
static void at_fork_in_child(void)
{
	if (!thread.taking)
		pool_give_others(own_name());
}

/* Runs before constructors that draw: those without a number come last. */
__attribute__((constructor(101))) static void prepare(void)
{
	libc_prepare(at_thread_exit, at_fork_in_child);
	config_need();
	/* An earlier constructor may have called vgetrandom_prewarm(). */
	thread.mode = THREAD_NEW;
}

/*
 * A signal handler in between does the same, and may even never return: that is harmless. Before
 * libc is prepared, the thread stays new, so that it asks again.
 */
static void attach(enum libc_caller caller)
{
	if (libc_tells_thread_exit(&thread, caller) || caller == LIBC_CALLER_ORDINARY)
		thread.mode = THREAD_ATTACHED;
	else if (libc_is_prepared())
		thread.mode = THREAD_BORROWS;
}

void thread_attach(void)
{
	if (thread.mode != THREAD_ATTACHED)
		attach(LIBC_CALLER_ORDINARY);
}

void thread_detach(void)
{
	thread.mode = THREAD_NEW;
	signal_fence();
	give_all();
}

/* Atomic with respect to a signal handler that also pushes. */
static void push_owned(struct slot *slot)
{
	slot->next = READ_ONCE(thread.owned);
	while (!__atomic_compare_exchange_n(&thread.owned, &slot->next, slot, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static struct slot *find_idle(void)
{
	struct slot *slot = READ_ONCE(thread.owned);

	for (int i = 0; slot && i < LOOK_AT; i++, slot = slot->next) {
		if (!READ_ONCE(slot->busy))
			return slot;
	}
	return NULL;
}

bool thread_has_idle(void)
{
	return find_idle();
}

bool thread_borrows(void)
{
	if (thread.mode == THREAD_NEW)
		attach(LIBC_CALLER_ANY);
	return thread.mode != THREAD_ATTACHED;
}

static struct slot *take(void)
{
	uint32_t no_memory = READ_ONCE(thread.no_memory);
	struct slot *slot;

	/* Read once: a signal handler that also counts must not make it wrap below zero. */
	if (no_memory) {
		WRITE_ONCE(thread.no_memory, no_memory - 1);
		return NULL;
	}
	WRITE_ONCE(thread.taking, thread.taking + 1);
	signal_fence();
	slot = pool_take();
	if (slot)
		slot->taker = own_name();
	else
		thread.no_memory = NO_MEMORY_CALLS;
	signal_fence();
	WRITE_ONCE(thread.taking, thread.taking - 1);
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
	WRITE_ONCE(thread.ready, slot);
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

struct slot *thread_claim(void)
{
	config_need();
	if (!config.vdso)
		return NULL;
	return thread_borrows() ? claim_borrowed() : claim_owned();
}

void thread_release(struct slot *slot)
{
	thread_release_ready(slot);
	if (slot->borrowed) {
		slot->borrowed = 0;
		pool_give(slot);
	}
}
