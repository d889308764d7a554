// SPDX-License-Identifier: GPL-2.0
/*
 * Description: reads the state of the kernel's generator once, as a leak of kernel
 * memory would, and predicts from it where the next system calls will run.
 *
 * It does this ROUNDS times on CPU 0, and as often on CPU 1 with the state of CPU 0:
 * then the task's part of the state is right and the CPU's part is another CPU's.
 *
 * It makes no system call between two draws: the CPU's counter tells when the next one
 * is due. The timers of the task's CPU tell how long ago the state was read: on a busy
 * host a CPU may not run for a while, and then its timers are late, too.
 *
 * Usage: leak CALLS (on each CPU)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "counter.h"
#include "probe.h"
#include "record.h"
#include "side_by_side.h"

enum {
	CPUS = 2,
	ROUNDS = 8,
	LASTING_MS = 100,
	/* Longer than the judge assumes a state to live. */
	LATE_MS = 40,
	CALIBRATION_CALLS = 4096,
	CALIBRATION_MS = 50,
	OFFSET_MASK = 0x3f0,
};

static long timed_position(int probe, uint32_t *ms)
{
	return probe_checked(ioctl(probe, KSTACK_PROBE_TIMED_POSITION, ms));
}

static void start_clock(int probe)
{
	if (ioctl(probe, KSTACK_PROBE_START_CLOCK))
		fail("clock of the CPU");
}

/* The position without any offset, and whether there are offsets at all. */
struct base {
	long position;
	bool moves;
};

static struct base learn_base(int probe)
{
	long least = PROBE_MAX_POSITION, most = 0;
	uint32_t ms;

	for (size_t i = 0; i < CALIBRATION_CALLS; i++) {
		long position = timed_position(probe, &ms);

		least = position < least ? position : least;
		most = position > most ? position : most;
	}
	return (struct base){ .position = least, .moves = most > least };
}

static uint64_t nanoseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t counts_per_ms(void)
{
	uint64_t counts = counter(), begin = nanoseconds(), taken;

	do
		taken = nanoseconds() - begin;
	while (taken < CALIBRATION_MS * 1000000u);
	return (counter() - counts) * 1000000u / taken;
}

/* The generator's per-CPU variable; 0 if it has none. */
static uint64_t find_symbol(void)
{
	FILE *symbols = fopen("/proc/kallsyms", "r");
	uint64_t address, found = 0;
	char line[512], name[256];

	if (!symbols)
		fail("/proc/kallsyms");
	while (!found && fgets(line, sizeof(line), symbols))
		if (sscanf(line, "%" SCNx64 " %*c %255s", &address, name) == 2 &&
		    (!strcmp(name, "kstack_key") || !strcmp(name, "kstack_rnd_state")))
			found = address;
	fclose(symbols);
	return found;
}

static struct kstack_probe_state read_state(int probe, uint64_t symbol)
{
	struct kstack_probe_state state = { .symbol = symbol, .cpu = 0 };

	if (ioctl(probe, KSTACK_PROBE_STATE, &state)) {
		perror("state of the generator");
		exit(errno == EOPNOTSUPP ? UNSUPPORTED : 1);
	}
	return state;
}

static uint64_t step_temper(struct kstack_probe_state *s)
{
	uint64_t key = s->cpu_state[0];
	unsigned __int128 product = (unsigned __int128)s->task_state * key;

	s->task_state = (uint64_t)product ^ (uint64_t)(product >> 64) ^ key;
	return s->task_state;
}

/* One of the four registers of prandom_u32_state() in lib/random32.c. */
static uint32_t step_register(__u64 *state, int a, int b, uint32_t c, int d)
{
	uint32_t s = (uint32_t)*state;

	s = ((s & c) << d) ^ (((s << a) ^ s) >> b);
	*state = s;
	return s;
}

static uint64_t step_lfsr(struct kstack_probe_state *s)
{
	return step_register(&s->cpu_state[0], 6, 13, 4294967294u, 18) ^
	       step_register(&s->cpu_state[1], 2, 27, 4294967288u, 2) ^
	       step_register(&s->cpu_state[2], 13, 21, 4294967280u, 7) ^
	       step_register(&s->cpu_state[3], 3, 12, 4294967168u, 13);
}

static uint64_t step(struct kstack_probe_state *s)
{
	switch (s->generator) {
	case KSTACK_TEMPER:
		return step_temper(s);
	case KSTACK_LFSR:
		return step_lfsr(s);
	default:
		/* What gets mixed in is unknown: the last offset is as good a guess as any. */
		return s->task_state;
	}
}

/*
 * What a task drew: each position, the number of the draw, how long after the state was
 * read it was drawn, and whether the prediction was right.
 */
struct drawn {
	long *positions;
	long *numbers;
	long *ms;
	long *hits;
	size_t count;
};

static struct drawn drawn_create(size_t count)
{
	return (struct drawn){
		.positions = array(count),
		.numbers = array(count),
		.ms = array(count),
		.hits = array(count),
		.count = count,
	};
}

static struct drawn drawn_in_round(const struct drawn *all, size_t number)
{
	size_t each = all->count / ROUNDS, first = number * each;

	return (struct drawn){
		.positions = all->positions + first,
		.numbers = all->numbers + first,
		.ms = all->ms + first,
		.hits = all->hits + first,
		.count = each,
	};
}

/*
 * Draw at an even pace. The second half must be drawn after LATE_MS by the clock of the
 * CPU's timers: if they are late, keep drawing before it and discard the positions.
 */
static void draw(int probe, struct drawn *d, uint64_t per_ms)
{
	uint64_t pace = LASTING_MS * per_ms / d->count, begin = counter();
	uint32_t first = 0, ms;
	size_t kept = 0;

	for (long number = 0; kept < d->count; number++) {
		long position;

		while (counter() - begin < pace * (uint64_t)number)
			;
		position = timed_position(probe, &ms);
		first = number ? first : ms;
		if (kept == d->count / 2 && ms - first < LATE_MS)
			continue;
		d->positions[kept] = position;
		d->numbers[kept] = number;
		d->ms[kept++] = ms - first;
	}
}

static void find_hits(const struct drawn *d, struct kstack_probe_state state, struct base base)
{
	uint64_t next = 0;
	long drawn = 0;

	for (size_t i = 0; i < d->count; i++) {
		for (; drawn <= d->numbers[i]; drawn++)
			next = step(&state);
		d->hits[i] = d->positions[i] ==
			     base.position + (base.moves ? (long)(next & OFFSET_MASK) : 0);
	}
}

/* Draw on @cpu, and predict with the state of CPU 0. */
static void play_round(int probe, uint64_t symbol, size_t cpu, struct base base, uint64_t per_ms,
		       struct drawn d)
{
	struct kstack_probe_state state;

	stay_on_cpu(cpu);
	state = read_state(probe, symbol);
	draw(probe, &d, per_ms);
	find_hits(&d, state, base);
}

int main(int argc, char **argv)
{
	size_t calls = samples_wanted(argc, argv) / ROUNDS * ROUNDS;
	struct drawn drawn[CPUS];
	uint64_t symbol = find_symbol(), per_ms;
	int probe = probe_open();
	struct base base;

	need_cpus(CPUS);
	for (size_t cpu = 0; cpu < CPUS; cpu++) {
		stay_on_cpu(cpu);
		start_clock(probe);
		drawn[cpu] = drawn_create(calls);
	}
	per_ms = counts_per_ms();
	base = learn_base(probe);
	for (size_t i = 0; i < ROUNDS * CPUS; i++)
		play_round(probe, symbol, i % CPUS, base, per_ms,
			   drawn_in_round(&drawn[i % CPUS], i / CPUS));
	print_samples("leak_hit", drawn[0].hits, calls);
	print_samples("leak_ms", drawn[0].ms, calls);
	print_samples("other_hit", drawn[1].hits, calls);
	print_samples("other_ms", drawn[1].ms, calls);
	return 0;
}
