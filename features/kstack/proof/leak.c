// SPDX-License-Identifier: GPL-2.0
/*
 * Description: reads the state of the kernel's generator once, as by a leak of kernel
 * memory, and says from it where the next system calls will run.
 *
 * That is done ROUNDS times, each on its own. In each there are two tasks on two CPUs,
 * both for LASTING_MS: the attacker on CPU 0, whose state and
 * whose CPU's state was read; and another on CPU 1, of whom only the task's own state
 * was read, and that is used with the state of CPU 0.
 *
 * Between two draws no system call is made: time is taken from the CPU's counter.
 *
 * Usage: leak CALLS (of each task)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "counter.h"
#include "probe.h"
#include "record.h"
#include "task.h"

enum {
	ROUNDS = 8,
	LASTING_MS = 100,
	CALIBRATION_CALLS = 4096,
	CALIBRATION_MS = 50,
	MEETINGS = 1000,
	OFFSET_MASK = 0x3f0,
};

/* The position without any offset, and whether there are offsets at all. */
struct base {
	long position;
	bool moves;
};

static struct base learn_base(int probe)
{
	long least = PROBE_MAX_POSITION, most = 0;

	for (size_t i = 0; i < CALIBRATION_CALLS; i++) {
		long position = probe_position(probe);

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

/* The per-CPU variable of the generator, or 0: a generator without one. */
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
	struct kstack_probe_state state = { .symbol = symbol };

	if (ioctl(probe, KSTACK_PROBE_STATE, &state)) {
		perror("state of the generator");
		exit(errno == EOPNOTSUPP ? UNSUPPORTED : 1);
	}
	return state;
}

static uint64_t step_temper(struct kstack_probe_state *s)
{
	unsigned __int128 product = (unsigned __int128)s->task_state * s->cpu_state[0];

	s->task_state = (uint64_t)product ^ (uint64_t)(product >> 64);
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
		/* What is mixed in is not known: no guess is better than the last. */
		return s->task_state;
	}
}

/* What a task drew, how long after the state was read, and which were foretold. */
struct drawn {
	long *positions;
	long *ms;
	long *hits;
	size_t count;
};

static struct drawn drawn_create(size_t count)
{
	return (struct drawn){
		.positions = shared_array(count),
		.ms = shared_array(count),
		.hits = shared_array(count),
		.count = count,
	};
}

static struct drawn drawn_in_round(const struct drawn *all, size_t number)
{
	size_t each = all->count / ROUNDS, first = number * each;

	return (struct drawn){
		.positions = all->positions + first,
		.ms = all->ms + first,
		.hits = all->hits + first,
		.count = each,
	};
}

/* Evenly over the time, so that each millisecond has its share. */
static void draw(int probe, struct drawn *d, uint64_t begin, uint64_t per_ms)
{
	for (size_t i = 0; i < d->count; i++) {
		uint64_t due = LASTING_MS * per_ms * i / d->count, now;

		do
			now = counter() - begin;
		while (now < due);
		d->positions[i] = probe_position(probe);
		d->ms[i] = (long)(now / per_ms);
	}
}

static void find_hits(const struct drawn *d, struct kstack_probe_state state, struct base base)
{
	for (size_t i = 0; i < d->count; i++) {
		long offset = base.moves ? (long)(step(&state) & OFFSET_MASK) : 0;

		d->hits[i] = d->positions[i] == base.position + offset;
	}
}

/*
 * What the two tasks tell each other without a system call. The attacker asks by
 * number; the other answers with his state and the number, until both may draw.
 */
struct meeting {
	atomic_long asked;
	atomic_long answered;
	atomic_bool agreed;
	uint64_t begin;
	struct kstack_probe_state state;
};

static void be_other(int probe, uint64_t symbol, struct meeting *m, struct drawn *d,
		     uint64_t per_ms)
{
	stay_on_cpu(1);
	/* Or each page costs a fault when the first milliseconds count. */
	memset(d->positions, 0, d->count * sizeof(*d->positions));
	memset(d->ms, 0, d->count * sizeof(*d->ms));
	while (!atomic_load(&m->agreed)) {
		long asked = atomic_load(&m->asked);

		if (asked == atomic_load(&m->answered))
			continue;
		m->state = read_state(probe, symbol);
		atomic_store(&m->answered, asked);
	}
	draw(probe, d, m->begin, per_ms);
	exit(0);
}

/*
 * Both states are to be read within a millisecond: a CPU that is itself a task of a
 * busy host may be away for longer than what is learned there lasts.
 */
static struct kstack_probe_state meet(int probe, uint64_t symbol, pid_t task, struct meeting *m,
				      uint64_t per_ms)
{
	struct kstack_probe_state state;

	for (long number = 1; number <= MEETINGS; number++) {
		state = read_state(probe, symbol);
		m->begin = counter();
		atomic_store(&m->asked, number);
		while (atomic_load(&m->answered) != number)
			if (counter() - m->begin > per_ms && waitpid(task, NULL, WNOHANG))
				fail("the other task");
		if (counter() - m->begin > per_ms)
			continue;
		atomic_store(&m->agreed, true);
		return state;
	}
	fputs("the CPUs were never both there for a millisecond\n", stderr);
	exit(UNSUPPORTED);
}

/* The other task's own state, with the CPU's of the attacker. */
static struct kstack_probe_state mixed(const struct kstack_probe_state *other,
				       const struct kstack_probe_state *attacker)
{
	struct kstack_probe_state state = *attacker;

	state.task_state = other->task_state;
	return state;
}

static void play_round(int probe, uint64_t symbol, struct base base, uint64_t per_ms,
		       struct drawn mine, struct drawn others)
{
	struct meeting *m = shared(sizeof(*m));
	struct kstack_probe_state state, other;
	pid_t task = start_task();

	if (task == 0)
		be_other(probe, symbol, m, &others, per_ms);
	state = meet(probe, symbol, task, m, per_ms);
	draw(probe, &mine, m->begin, per_ms);
	wait_for(task);

	other = mixed(&m->state, &state);
	find_hits(&mine, state, base);
	find_hits(&others, other, base);
	munmap(m, sizeof(*m));
}

int main(int argc, char **argv)
{
	size_t calls = samples_wanted(argc, argv) / ROUNDS * ROUNDS;
	struct drawn mine = drawn_create(calls), others = drawn_create(calls);
	uint64_t symbol = find_symbol(), per_ms;
	int probe = probe_open();
	struct base base;

	need_cpus(2);
	stay_on_cpu(0);
	per_ms = counts_per_ms();
	base = learn_base(probe);
	for (size_t i = 0; i < ROUNDS; i++)
		play_round(probe, symbol, base, per_ms, drawn_in_round(&mine, i),
			   drawn_in_round(&others, i));
	print_samples("leak_hit", mine.hits, calls);
	print_samples("leak_ms", mine.ms, calls);
	print_samples("other_hit", others.hits, calls);
	print_samples("other_ms", others.ms, calls);
	return 0;
}
