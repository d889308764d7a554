/* SPDX-License-Identifier: GPL-2.0 */
/* The interface between the module and the programs that use it. */
#ifndef KSTACK_PROBE_H
#define KSTACK_PROBE_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Where the offset of a system call comes from. */
enum kstack_generator {
	/* The task's offset. What the end of each call mixes in cannot be read. */
	KSTACK_STOCK,
	/* A linear-feedback shift register of the CPU. */
	KSTACK_LFSR,
	/* The task's state, multiplied by the CPU's key. */
	KSTACK_TEMPER,
};

/*
 * Everything that decides the calling task's future offsets on a CPU, as it is during
 * this call, except what will be drawn anew.
 *
 * @symbol: in: the address /proc/kallsyms has for the generator's per-CPU variable
 *          (LFSR: kstack_rnd_state, TEMPER: kstack_key), which no module can link to
 * @cpu: in: the CPU
 * @generator: enum kstack_generator
 * @mask: the bits of a drawn value that move the stack
 * @task_state: the calling task's part
 * @cpu_state: the CPU's part; LFSR: the four words of struct rnd_state
 */
struct kstack_probe_state {
	__u64 symbol;
	__u32 cpu;
	__u32 generator;
	__u64 mask;
	__u64 task_state;
	__u64 cpu_state[4];
};

/*
 * @task: in: its number
 * @state: that task's part of the state, or its last offset
 */
struct kstack_probe_task {
	__u64 task;
	__u64 state;
};

enum { KSTACK_PROBE_WORDS = 14 };

/*
 * The beginning of a per-CPU variable.
 *
 * @symbol: in: its address in /proc/kallsyms
 * @cpu: in: the CPU
 * @count: in: how many words of it
 * @words: what lies there, or, in, what to put there
 */
struct kstack_probe_memory {
	__u64 symbol;
	__u64 cpu;
	__u64 count;
	__u64 words[KSTACK_PROBE_WORDS];
};

#define KSTACK_PROBE_POSITION       _IO('K', 0)
#define KSTACK_PROBE_DISPLACEMENT   _IO('K', 1)
#define KSTACK_PROBE_LARGEST_OFFSET _IO('K', 2)
#define KSTACK_PROBE_STATE          _IOWR('K', 3, struct kstack_probe_state)
/*
 * The position; the argument receives how far the clock that ticks drive lags behind, in
 * nanoseconds: more than a tick if ticks come late.
 */
#define KSTACK_PROBE_TIMED_POSITION _IOR('K', 4, __u64)
#define KSTACK_PROBE_MEMORY         _IOWR('K', 5, struct kstack_probe_memory)
#define KSTACK_PROBE_TASK_STATE     _IOWR('K', 6, struct kstack_probe_task)
#define KSTACK_PROBE_PUT_MEMORY     _IOWR('K', 7, struct kstack_probe_memory)
enum { KSTACK_PROBE_DEFERRED = 16 };

/* Arms so many timers of this CPU that wake nobody, so many milliseconds apart. */
#define KSTACK_PROBE_DEFER _IO('K', 8)

/* Calls add_vmfork_randomness(), whose address in /proc/kallsyms the argument is. */
#define KSTACK_PROBE_COPIED _IO('K', 9)

#endif
