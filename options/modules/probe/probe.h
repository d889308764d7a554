/* SPDX-License-Identifier: GPL-2.0 */
/* What all attacks within the kernel share. */
#ifndef TEMPER_PROBE_H
#define TEMPER_PROBE_H

#include <linux/types.h>

#define PATTERN 0xab
#define TRIES   64
#define SIZE    512

struct tally {
	long tries;
	long landed;
	/* Whether it goes on in the next call. */
	bool again;
	/* What has to differ from boot to boot, if the attack is on that; 0: nothing has. */
	long seen;
};

struct attack {
	const char *name;
	void (*attack)(struct tally *tally);
};

/* Each ends with an attack without a name. */
extern const struct attack heap_attacks[];
extern const struct attack list_attacks[];
extern const struct attack page_attacks[];
extern const struct attack memory_attacks[];
extern const struct attack reference_attacks[];
extern const struct attack register_attacks[];
extern const struct attack stack_attacks[];
extern const struct attack table_attacks[];

static inline void count(struct tally *tally, bool landed)
{
	tally->tries++;
	tally->landed += landed;
}

bool pattern_left(const u8 *memory, size_t size);

/* Returns a page in user space, which goes with the process; 0: there is none. */
unsigned long user_page(void);

#endif
