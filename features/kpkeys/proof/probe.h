/* SPDX-License-Identifier: GPL-2.0 */
/* Access to the kpkeys_probe module. */
#ifndef PROBE_H
#define PROBE_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "kpkeys_probe.h"

static inline int probe_open(void)
{
	int probe = open("/dev/kpkeys_probe", O_RDWR | O_CLOEXEC);

	if (probe < 0) {
		perror("/dev/kpkeys_probe");
		exit(77);
	}
	return probe;
}

static inline struct kpkeys_probe_places probe_places(int probe)
{
	struct kpkeys_probe_places places;

	if (ioctl(probe, KPKEYS_PROBE_PLACES, &places)) {
		perror("places of the kernel");
		exit(1);
	}
	return places;
}

/* Return whether the kernel has such memory; if so, @to has its contents. */
static inline bool probe_read(int probe, uint64_t address, void *to, size_t size)
{
	struct kpkeys_probe_read wanted = {
		.address = address,
		.to = (uintptr_t)to,
		.size = size,
	};

	return !ioctl(probe, KPKEYS_PROBE_READ, &wanted);
}

static inline void probe_ask(int probe, unsigned long request, void *wanted, uint64_t address)
{
	if (!ioctl(probe, request, wanted))
		return;
	fprintf(stderr, "0x%llx: ", (unsigned long long)address);
	perror("write");
	exit(1);
}

/* Change a word and undo it; return how that ended. */
static inline struct kpkeys_try probe_write(int probe, uint64_t address)
{
	struct kpkeys_probe_write wanted = { .address = address };

	probe_ask(probe, KPKEYS_PROBE_WRITE, &wanted, address);
	return wanted.end;
}

/* The word is @value afterwards, unless something stops that. */
static inline void probe_store(int probe, uint64_t address, uint64_t value)
{
	struct kpkeys_probe_store wanted = { .address = address, .value = value };

	probe_ask(probe, KPKEYS_PROBE_STORE, &wanted, address);
}

/* Return the address of what the request made, or 0. */
static inline uint64_t probe_make(int probe, unsigned long request)
{
	uint64_t address;

	return ioctl(probe, request, &address) ? 0 : address;
}

/* Return the address of a page of the attacker's that the kernel took for a freed table. */
static inline uint64_t probe_freed(int probe, uint64_t how)
{
	struct kpkeys_probe_freed wanted = { .how = how };

	if (!ioctl(probe, KPKEYS_PROBE_FREED, &wanted))
		return wanted.address;
	perror("a page that is freed as a table");
	exit(1);
}

#endif
