/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the step_*.c tests interrupt, and what has to hold whatever comes in between. One child
 * plays one path once. What it and its own children draw, it leaves in memory shared with the
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
	/* By the child. First what the interrupted call drew, or had when it was left by a jump. */
	struct draws drawn;
	/* By the copy of the child that a handler forked. */
	struct draws copy_drawn;
	bool returned;
	/* For handlers, as the tracer decides. */
	unsigned int kind;
	/* How many slots the thread has at the end. */
	unsigned int owned;
	/* Pages that the kernel was asked to drop, and those it did. */
	unsigned int asked, dropped;
};

extern struct shared *shared;

struct path {
	const char *name;
	void (*prepare)(void);
	void (*run)(void);
	/* How many bytes run() draws. */
	uint32_t len;
	/* The thread was prewarmed: no system calls from then on. */
	bool warm;
	/* run() sets the marks itself, and does not return. */
	bool ends;
	/* So many slots are claimed at a time. */
	unsigned int depth;
};

/* The last has no name. */
extern const struct path paths[];

/* For comparison: the vDSO function without the library. */
extern const struct path path_vdso;

/* What comes in between, and how to go on. Not on the stack, which a thread's end takes down. */
struct event {
	/* In the child, for SIGUSR1 and SIGUSR2. */
	void (*handler)(int signal);
	/* From the instruction to the end of the interrupted call. */
	void (*inject)(pid_t pid, const struct trace *trace, size_t index);
	/* NULL, or after the checks that hold for all events; and after the path's last. */
	void (*after)(const struct trace *trace, size_t index);
	void (*after_all)(const struct path *path, const struct trace *trace);
	/* Slots that an event may cost. */
	unsigned int slots;
	/* The thread has to draw keys anew after it. */
	bool cold;
	/* Not for paths that end the thread. */
	bool leaves;
};

/* All ways of drawing. May be called by a signal handler. */
void draw_all(struct draws *draws);

/* For handlers: leaves the interrupted call. */
_Noreturn void path_leave(void);

/* In copies of the child: goes on as it does, with a log of its own. */
void path_is_copy(void);

/* Whether the interrupted call gave the child and its copy the same, or in part. */
bool interrupted_same(void);

/*
 * Has an event happen at the instructions of a path, each in a child of its own, and checks all
 * that was drawn. By default, these are all at both ends of the path and some of what lies between.
 */
void step_path(const struct path *path, const struct event *event, bool every_instruction);

/* Once, before the others. Ends the test where there is nothing to step. */
void paths_prepare(void);

/* The same for the paths that are named by the arguments, or all. */
void step_paths(int argc, char **argv, const struct event *event);

#endif
