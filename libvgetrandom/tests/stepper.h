/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Stops a child at any instruction of a stretch of its code, the vDSO's included. The child says
 * where the stretch begins and ends: stepper_mark(). Children are forked from the tracer, so all
 * run the same instructions at the same addresses, and what was recorded of one holds for the next.
 */
#ifndef VGR_TESTS_STEPPER_H
#define VGR_TESTS_STEPPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The instructions between two marks, in their order. */
struct trace {
	uintptr_t *pc;
	/* How often the child was there until then, this time included. */
	uint32_t *visit;
	size_t count;
};

/* For the child: stops it, if it is traced. Not for copies that it forks: stepper_untraced(). */
void stepper_mark(void);

/* For a copy that the child forked: its marks do nothing from here on. */
void stepper_untraced(void);

/* Forks a child that runs function, and returns when it came to its first mark. */
pid_t stepper_start(void (*function)(void));

/* Steps to the child's next mark. trace is to be given to trace_free(). */
void stepper_record(pid_t pid, struct trace *trace);
void trace_free(struct trace *trace);

/* Runs to an instruction, before it is done. False: the child came to its next mark instead. */
bool stepper_run_to(pid_t pid, const struct trace *trace, size_t index);

/* Gives the child a signal where it stands, as soon as it goes on. */
void stepper_signal(int signal);

/* Runs on to the child's next mark. */
void stepper_run_to_mark(pid_t pid);

/* The same, and gives it a signal the first times that it comes to pc: if the machine can do it. */
void stepper_run_to_mark_by(pid_t pid, uintptr_t pc, int signal, unsigned int times);

/* The same. Returns how many system calls the child did on the way. */
unsigned int stepper_count_system_calls(pid_t pid);

/* Runs on to the child's end. Returns its exit status; a signal ends the test. */
int stepper_end(pid_t pid);

#endif
