/* SPDX-License-Identifier: Apache-2.0 */
/* What all attacks on options share. */
#ifndef TEMPER_ATTACK_H
#define TEMPER_ATTACK_H

#include <stdbool.h>

/* In memory that the process which attacks shares with the one that waits for it. */
struct tally {
	long tries;
	long landed;
	/* Why there was no try, or why the kernel refused it; 0: no reason is known. */
	long error;
	/* What has to differ from boot to boot, if the attack is on that; 0: nothing has. */
	long seen;
};

/* Each returns false if it knows no attack of this name. */
bool load_module(const char *name, struct tally *tally);
bool attack_lkdtm(const char *name, struct tally *tally);
bool attack_by_probe(const char *name, struct tally *tally);
bool attack_as_user(const char *name, struct tally *tally);

/* Whether LKDTM, once it is loaded, can be told what to attack. */
bool has_triggers(void);

/* Print something of this process, for attacks that start it afresh. */
void tell(const char *what);

#endif
