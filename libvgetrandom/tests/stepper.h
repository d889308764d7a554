/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Stops a child at any instruction in a stretch of its code, including the vDSO's. The child calls
 * stepper_mark() where the stretch begins and ends. Children are forked from the tracer, so all run
 * the same instructions at the same addresses, and a record of one is valid for the next.
 */
#ifndef VGR_TESTS_STEPPER_H
#define VGR_TESTS_STEPPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The instructions between two marks, in order. */
struct trace {
	uintptr_t *pc;
	/* How often the child was there until then, including this time. */
	uint32_t *visit;
	size_t count;
};

/* For the child: stops it if it is traced. Copies that it forks call stepper_untraced(). */
void stepper_mark(void);

/* For a copy that the child forked: its marks do nothing from then on. */
void stepper_untraced(void);

/* Forks a child that runs function, and returns when the child reaches its first mark. */
pid_t stepper_start(void (*function)(void));

/* Steps to the child's next mark. Give trace to trace_free(). */
void stepper_record(pid_t pid, struct trace *trace);
void trace_free(struct trace *trace);

/* Stops before an instruction. Returns false if the child reached its next mark instead. */
bool stepper_run_to(pid_t pid, const struct trace *trace, size_t index);

/* Gives the child a signal where it is, as soon as it continues. */
void stepper_signal(int signal);

/* Continues to the child's next mark. */
void stepper_run_to_mark(pid_t pid);

/* The same, but also gives it a signal the first times it reaches pc, if the machine can. */
void stepper_run_to_mark_by(pid_t pid, uintptr_t pc, int signal, unsigned int times);

/* Continues to the next mark. Returns how many system calls the child made on the way. */
unsigned int stepper_count_system_calls(pid_t pid);

/* Continues to the child's end. Returns its exit status; a signal ends the test. */
int stepper_end(pid_t pid);

#endif
