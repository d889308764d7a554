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
 * All that decides the offsets to come, but for what is drawn anew, as it is within
 * the call that asks.
 *
 * @symbol: in: the address /proc/kallsyms has for the generator's per-CPU variable
 *          (LFSR: kstack_rnd_state, TEMPER: kstack_key), which no module can link to
 * @generator: enum kstack_generator
 * @cpu: which CPU it was
 * @task_state: the calling task's part
 * @cpu_state: the CPU's part; LFSR: the four words of struct rnd_state
 */
struct kstack_probe_state {
	__u64 symbol;
	__u32 generator;
	__u32 cpu;
	__u64 task_state;
	__u64 cpu_state[4];
};

#define KSTACK_PROBE_POSITION       _IO('K', 0)
#define KSTACK_PROBE_DISPLACEMENT   _IO('K', 1)
#define KSTACK_PROBE_LARGEST_OFFSET _IO('K', 2)
#define KSTACK_PROBE_STATE          _IOWR('K', 3, struct kstack_probe_state)

#endif
