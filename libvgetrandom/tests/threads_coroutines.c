// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Description: a coroutine that goes on in another thread draws from that thread's slot, also where
 * link-time optimization inlines the calls.
 */
#include <pthread.h>
#include <ucontext.h>
#include <vgetrandom.h>

#include "check.h"
#include "compiler.h"
#include "thread.h"
#include "vdso_stand_in.h"

static ucontext_t outside, inside;
static char stack[1 << 16];
static uint64_t sum;

/* Not inlined: the compiler must not see that they change the thread. */
static noinline void enter(void)
{
	check(!swapcontext(&outside, &inside), "no switch");
}

static noinline void leave(void)
{
	check(!swapcontext(&inside, &outside), "no switch");
}

static void draw_u64(void)
{
	for (;;) {
		leave();
		sum += vgetrandom_batch_u64();
	}
}

static void draw_u32(void)
{
	for (;;) {
		leave();
		sum += vgetrandom_batch_u32();
	}
}

static void draw_bytes(void)
{
	for (;;) {
		uint8_t bytes[16];

		leave();
		vgetrandom_batch_bytes(bytes, sizeof(bytes));
		sum += bytes[0];
	}
}

static void pass_through(void)
{
	for (;;) {
		uint64_t number;

		leave();
		check(vgetrandom(&number, sizeof(number), 0) == sizeof(number), "no bytes");
		sum += number;
	}
}

static void *go_on(void *unused)
{
	check(!vgr_thread.owned, "a new thread has a slot");
	enter();
	check(vgr_thread.owned, "the coroutine draws from the slot of another thread");
	return unused;
}

int main(void)
{
	static void (*const bodies[])(void) = { draw_u64, draw_u32, draw_bytes, pass_through };

	vgr_config_need();
	if (!vgr_config.vdso)
		vdso_stand_in_use();
	for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
		pthread_t thread;

		check(!getcontext(&inside), "no context");
		inside.uc_stack.ss_sp = stack;
		inside.uc_stack.ss_size = sizeof(stack);
		makecontext(&inside, bodies[i], 0);
		/* To its first leave(), and through its first draw. */
		enter();
		enter();
		check(!pthread_create(&thread, NULL, go_on, NULL), "no thread");
		pthread_join(thread, NULL);
	}
	check(sum, "all numbers are zero");
	return 0;
}
