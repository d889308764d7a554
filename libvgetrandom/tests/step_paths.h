/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the step_*.c tests interrupt, and what must hold whatever happens in between. One child
 * plays one path once. It leaves what it and its own children draw in memory shared with the
 * tracer.
 */
#ifndef VGR_TESTS_STEP_PATHS_H
#define VGR_TESTS_STEP_PATHS_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stepper.h"

enum {
	DRAWS_MAX = 256,
	DRAWN_MAX = 1 << 16,
};

struct draws {
	uint32_t count, used;
	struct draw {
		uint32_t at, len;
	} draw[DRAWS_MAX];
	uint8_t bytes[DRAWN_MAX];
};

struct shared {
	/* The child's. The first is the interrupted call's, or what a jump left of it. */
	struct draws drawn;
	/* Those of the copy of the child that a handler forked. */
	struct draws copy_drawn;
	bool returned;
	/* The tracer sets it for handlers. */
	unsigned int kind;
	/* The number of slots that the thread has at the end. */
	unsigned int owned;
	/* Pages that the kernel was asked to drop, and those that it dropped. */
	unsigned int asked, dropped;
};

extern struct shared *shared;

struct path {
	const char *name;
	void (*prepare)(void);
	void (*run)(void);
	/* How many bytes run() draws. */
	uint32_t len;
	/* The thread was prewarmed and makes no system calls from then on. */
	bool warm;
	/* run() sets the marks itself, and does not return. */
	bool ends;
	/* The number of slots that are claimed at a time. */
	unsigned int depth;
};

/* The last has no name. */
extern const struct path paths[];

/* For comparison: the vDSO function without the library. */
extern const struct path path_vdso;

/* What happens in between, and how to continue. Not on the stack, which ends with a thread. */
struct event {
	/* Handles SIGUSR1 and SIGUSR2 in the child. */
	void (*handler)(int signal);
	/* Leads the child from the instruction to the end of the interrupted call. */
	void (*inject)(pid_t pid, const struct trace *trace, size_t index);
	/* NULL, or runs after the checks for all events, and after the path's last. */
	void (*after)(const struct trace *trace, size_t index);
	void (*after_all)(const struct path *path, const struct trace *trace);
	/* Slots that an event may cost. */
	unsigned int slots;
	/* The thread must draw new keys after it. */
	bool cold;
	/* Not for paths that end the thread. */
	bool leaves;
	/* All calls come to their end, and no slot is lost. */
	bool returns;
};

/* Draws in all ways. A signal handler may call it. */
void draw_all(struct draws *draws);

/* For handlers: leaves the interrupted call. */
_Noreturn void path_leave(void);

/* For copies of the child: continues as the child does, with a log of its own. */
void path_is_copy(void);

/* Whether the interrupted call gave the child and its copy the same, at least in part. */
bool interrupted_same(void);

/*
 * Makes an event happen at the instructions of a path, each in a child of its own, and checks
 * everything that was drawn. By default, these are all instructions at both ends of the path and
 * some in between.
 */
void step_path(const struct path *path, const struct event *event, bool every_instruction);

/* Call it once, before the others. Ends the test if there is nothing to step. */
void paths_prepare(void);

/* step_path() for the paths that the arguments name, or for all. */
void step_paths(int argc, char **argv, const struct event *event);

#endif
