/* SPDX-License-Identifier: GPL-2.0 */
/* What the module and the programs that ask it agree on. */
#ifndef KSTACK_PROBE_H
#define KSTACK_PROBE_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Where the offset of a system call comes from. */
enum kstack_generator {
	/* The task's offset; what is mixed in at the end of each call is not ours. */
	KSTACK_STOCK,
	/* A linear-feedback shift register of the CPU. */
	KSTACK_LFSR,
	/* The task's state, multiplied by the CPU's key. */
	KSTACK_TEMPER,
};

/*
 * All that decides the offsets to come of the calling task on a CPU, but for what is
 * drawn anew, as it is within the call that asks.
 *
 * @symbol: in: the address /proc/kallsyms has for the generator's per-CPU variable
 *          (LFSR: kstack_rnd_state, TEMPER: kstack_key), which no module can link to
 * @cpu: in: the CPU
 * @generator: enum kstack_generator
 * @task_state: the calling task's part
 * @cpu_state: the CPU's part; LFSR: the four words of struct rnd_state
 */
struct kstack_probe_state {
	__u64 symbol;
	__u32 cpu;
	__u32 generator;
	__u64 task_state;
	__u64 cpu_state[4];
};

#define KSTACK_PROBE_POSITION       _IO('K', 0)
#define KSTACK_PROBE_DISPLACEMENT   _IO('K', 1)
#define KSTACK_PROBE_LARGEST_OFFSET _IO('K', 2)
#define KSTACK_PROBE_STATE          _IOWR('K', 3, struct kstack_probe_state)
/* Until the file is closed, the timers of this CPU are a clock. */
#define KSTACK_PROBE_START_CLOCK _IO('K', 4)
/* The position; and in milliseconds, to a jiffy, what the clock says. */
#define KSTACK_PROBE_TIMED_POSITION _IOR('K', 5, __u32)

#endif
