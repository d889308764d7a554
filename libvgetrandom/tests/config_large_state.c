// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Description: a kernel whose states are larger than a slot has room for is one without the vDSO
 * function. The linker puts __wrap_vgr_vdso_function() in the place of the library's own.
 */
#include <string.h>
#include <vgetrandom.h>

#include "check.h"
#include "config.h"
#include "pool.h"

static ssize_t large_state(void *buf, size_t len, unsigned int flags, void *params, size_t size)
{
	check(!buf && !len && !flags && size == ~(size_t)0, "the large state is used");
	memset(params, 0, sizeof(struct vdso_params));
	((struct vdso_params *)params)->size_of_opaque_state = SLOT_STATE_MAX + 1;
	return 0;
}

const void *__wrap_vgr_vdso_function(const void *image, size_t size, const char *name,
				     const char *version)
{
	(void)image, (void)size, (void)name, (void)version;
	return (const void *)large_state;
}

int main(void)
{
	uint64_t number = 0;

	check(vgetrandom(&number, sizeof(number), 0) == sizeof(number), "no bytes");
	check(number, "zero");
	check(vgetrandom_status() == VGETRANDOM_NO_VDSO, "status %d", vgetrandom_status());
	return 0;
}
