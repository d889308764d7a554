// SPDX-License-Identifier: MIT OR Apache-2.0
#include <errno.h>
#include <vgetrandom.h>

#include "batch.h"
#include "compiler.h"
#include "draw.h"
#include "sys.h"
#include "thread.h"

enum {
	/* Slots for nested calls without a system call, and for the call that they interrupt. */
	PREWARMED_SLOTS = 4,
};

static noinline ssize_t vgetrandom_slow(void *buf, size_t len, unsigned int flags)
{
	struct slot *slot = vgr_thread_claim();
	ssize_t got;

	if (!slot)
		return sys_getrandom(buf, len, flags);
	got = draw(slot, buf, len, flags);
	vgr_thread_release(slot);
	return got;
}

api_inline ssize_t vgetrandom(void *buf, size_t len, unsigned int flags)
{
	struct slot *slot = thread_claim_ready();
	ssize_t got;

	if (unlikely(!slot))
		return vgetrandom_slow(buf, len, flags);
	got = draw(slot, buf, len, flags);
	thread_release_ready(slot);
	return got;
}

/* The first draw gets a state's key with a system call. */
static int warm(struct slot *slot)
{
	uint8_t byte;
	ssize_t got = draw(slot, &byte, sizeof(byte), 0);

	if (got >= 0)
		got = vgr_batch_fill(slot);
	return got < 0 ? (int)got : 0;
}

api int vgetrandom_prewarm(void)
{
	struct slot *slots[PREWARMED_SLOTS];
	int err = 0, n = 0;

	vgr_config_need();
	if (!vgr_config.vdso)
		return -ENOSYS;
	vgr_thread_attach();
	vgr_thread.no_memory = 0;
	/* Claim all at the same time, as nested calls would. */
	for (; n < PREWARMED_SLOTS && !err; n++) {
		slots[n] = vgr_thread_claim();
		if (!slots[n]) {
			err = -ENOMEM;
			break;
		}
		err = warm(slots[n]);
	}
	while (n--)
		vgr_thread_release(slots[n]);
	return err;
}

api void vgetrandom_release(void)
{
	vgr_thread_detach();
}

api enum vgetrandom_status vgetrandom_status(void)
{
	vgr_config_need();
	if (!vgr_config.vdso)
		return VGETRANDOM_NO_VDSO;
	/* A handler that interrupted a call may have lacked memory. */
	if (vgr_thread.no_memory && !vgr_thread_has_idle())
		return VGETRANDOM_NO_MEMORY;
	return vgr_thread_borrows() ? VGETRANDOM_BORROWED : VGETRANDOM_VDSO;
}

api const char *vgetrandom_status_text(enum vgetrandom_status status)
{
	switch (status) {
	case VGETRANDOM_VDSO:
		return "the kernel's vDSO function";
	case VGETRANDOM_NO_VDSO:
		return "system calls: the kernel offers no vDSO function";
	case VGETRANDOM_NO_MEMORY:
		return "system calls: no memory for a state";
	case VGETRANDOM_BORROWED:
		return "the kernel's vDSO function, with a state borrowed for each call";
	}
	return "unknown";
}

api const char *vgetrandom_simd(void)
{
	vgr_config_need();
	return vgr_config.chacha20->name;
}
