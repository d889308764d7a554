// SPDX-License-Identifier: GPL-2.0
/*
 * Description: reads the state of the kernel's generator once, as a leak of kernel
 * memory would, and predicts from it where the next system calls will run.
 *
 * It does so in several scenes: what the task does meanwhile, on which CPU, and whose
 * state was read. The CPU's counter tells how long ago that was, since ticks and timers
 * are what is to be found out. A host that does not let the guest run makes ticks late,
 * and keys with them: by how much the last ticks were late does not count as age.
 *
 * Usage: leak CALLS (in each scene; fewer between naps)
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "counter.h"
#include "generator.h"
#include "pace.h"
#include "probe.h"
#include "record.h"
#include "side_by_side.h"

enum {
	CPUS = 2,
	ROUNDS = 8,
	LASTING_MS = 60,
	/* Short work between naps, so that hardly any tick falls into it. */
	NAP_US = 1500,
	CALLS_PER_NAP = 16,
	/* Longer than any key is to serve. */
	PATIENCE_MS = 60,
	/* After the first ticks of a sleep: then they have stopped. */
	SLEPT_MS = 40,
	/* So much longer, by turns; no whole number of ticks, or one comes right after. */
	SLEEPS_MS = 41,
	SLEEPS = 4,
	/* In which RCU is done with a task that ended: its timers wake CPU 0. */
	SETTLE_MS = 100,
	/* Half a tick, since the first one that comes draws a key. */
	AWAKE_MS = 2,
	/* The last one stands for all that are later. */
	MOST_MS = 256,
	/* All scenes take half a minute. */
	DEADLINE_S = 240,
	CALIBRATION_CALLS = 4096,
	CALIBRATION_MS = 50,
	/* Another task may be so many calls ahead; so many tell how many it is. */
	MOST_AHEAD = 64,
	ALIGNING_CALLS = 32,
};

static long timed_position(int probe, uint64_t *lag)
{
	return probe_checked(ioctl(probe, KSTACK_PROBE_TIMED_POSITION, lag));
}

/* The position without any offset, and whether there are offsets at all. */
struct base {
	long position;
	bool moves;
};

static struct base learn_base(int probe)
{
	long least = PROBE_MAX_POSITION, most = 0;
	uint64_t lag;

	for (size_t i = 0; i < CALIBRATION_CALLS; i++) {
		long position = timed_position(probe, &lag);

		least = position < least ? position : least;
		most = position > most ? position : most;
	}
	return (struct base){ .position = least, .moves = most > least };
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

/* What does not change from round to round. */
struct attack {
	int probe;
	/* The file that takes CPU 1 offline and online, and whether that is done. */
	int online;
	/* The file that suspends the system; -1: it cannot be. */
	int suspend;
	atomic_bool *done;
	uint64_t symbol;
	uint64_t per_us;
	/* The length of a tick, in counts. */
	uint64_t tick;
	/* How far the clock that ticks drive lags behind if they come in time, in ns. */
	uint64_t usual_lag;
	struct base base;
};

/*
 * What a task drew: each position, how many system calls it had made since the state was
 * read, how long ago that was, and whether the prediction was right.
 */
struct drawn {
	long *positions;
	long *numbers;
	long *us;
	long *hits;
	size_t count;
};

static struct drawn drawn_create(size_t count)
{
	return (struct drawn){
		.positions = shared_array(count),
		.numbers = shared_array(count),
		.us = shared_array(count),
		.hits = shared_array(count),
		.count = count,
	};
}

static struct drawn drawn_in_round(const struct drawn *all, size_t number)
{
	size_t each = all->count / ROUNDS, first = number * each;

	return (struct drawn){
		.positions = all->positions + first,
		.numbers = all->numbers + first,
		.us = all->us + first,
		.hits = all->hits + first,
		.count = each,
	};
}

/*
 * By how many counts the last ticks were late at most: a CPU may have served its own tick
 * before the one that keeps the time served a late one.
 */
static uint64_t lately(const struct attack *a, uint64_t lag, uint64_t now)
{
	static uint64_t worst, when;
	uint64_t late = lag > a->usual_lag ? (lag - a->usual_lag) * a->per_us / 1000 : 0;

	if (late >= worst || now - when > 2 * a->tick) {
		worst = late;
		when = now;
	}
	return worst;
}

static void draw_one(const struct attack *a, struct drawn *d, size_t i, long number, uint64_t begin)
{
	uint64_t lag, now, late;

	d->positions[i] = timed_position(a->probe, &lag);
	d->numbers[i] = number;
	now = counter();
	late = lately(a, lag, now);
	d->us[i] = now - begin > late ? (long)((now - begin - late) / a->per_us) : 0;
}

/* At an even pace, with no system call in between. */
static void draw_for(const struct attack *a, struct drawn *d, uint64_t begin, uint64_t ms)
{
	uint64_t pace = ms * 1000 * a->per_us / d->count, start = counter();

	for (size_t i = 0; i < d->count; i++) {
		uint64_t passed = counter() - start;

		/* Do not make up for a time in which the host let nobody run. */
		if (passed > pace * (i + 1))
			start += passed - pace * (i + 1);
		while (counter() - start < pace * i)
			;
		draw_one(a, d, i, (long)i, begin);
	}
}

static void draw_spinning(const struct attack *a, struct drawn *d, uint64_t begin)
{
	draw_for(a, d, begin, LASTING_MS);
}

/* The CPU is idle while the task naps; its tick may stop, and start again when it wakes. */
static void draw_napping(const struct attack *a, struct drawn *d, uint64_t begin)
{
	size_t naps = 0;

	for (size_t i = 0; i < d->count; i++) {
		if (i % CALLS_PER_NAP == 0) {
			nap(NAP_US);
			naps++;
		}
		draw_one(a, d, i, (long)(i + naps), begin);
	}
}

/* Another task does it, so that the one that draws makes no system call. */
static void draw_after_hotplug(const struct attack *a, struct drawn *d, uint64_t begin)
{
	pid_t task = getpid(), helper;

	atomic_store(a->done, false);
	helper = fork_bare();
	if (helper == 0) {
		cpu_set_t cpus;

		CPU_ZERO(&cpus);
		CPU_SET(1, &cpus);
		stay_on_cpu(0);
		take_cpu_down_and_up(a->online);
		if (sched_setaffinity(task, sizeof(cpus), &cpus))
			fail("sched_setaffinity");
		atomic_store(a->done, true);
		_exit(0);
	}
	while (!atomic_load(a->done))
		;
	draw_spinning(a, d, begin);
	/* getpid() and clone(). */
	for (size_t i = 0; i < d->count; i++)
		d->numbers[i] += 2;
	finish_task(helper);
}

static void write_text(const char *path, const char *text)
{
	int file = open(path, O_WRONLY | O_CLOEXEC);

	if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text) || close(file))
		fail(path);
}

/*
 * The kernel's own test of suspend does all of it but the platform's part: devices and
 * other CPUs go, and the clock stands still. It comes back after a second.
 */
static int open_suspend(void)
{
	char depths[64] = "";
	int file = open("/sys/power/mem_sleep", O_RDONLY | O_CLOEXEC);

	if (file < 0 || read(file, depths, sizeof(depths) - 1) < 0 || close(file) ||
	    !strstr(depths, "deep") || access("/sys/power/pm_test", W_OK))
		return -1;
	write_text("/sys/power/pm_test", "core");
	write_text("/sys/module/suspend/parameters/pm_test_delay", "1");
	return open("/sys/power/state", O_WRONLY | O_CLOEXEC);
}

/* A device may refuse. */
static bool can_suspend(const struct attack *a)
{
	return a->suspend >= 0 && pwrite(a->suspend, "mem", 3, 0) == 3;
}

/* Before the next tick, which would draw a key. */
static void draw_after_suspend(const struct attack *a, struct drawn *d, uint64_t begin)
{
	if (pwrite(a->suspend, "mem", 3, 0) != 3)
		fail("suspend");
	draw_for(a, d, begin, AWAKE_MS);
	for (size_t i = 0; i < d->count; i++)
		d->numbers[i]++;
}

static void read_online(const struct attack *a)
{
	stay_on_cpu(0);
	take_cpu_down_and_up(a->online);
}

/* Read a part of the state that has its life before it, or else will never change. */
static struct kstack_probe_state read_new_state(const struct attack *a, size_t cpu)
{
	struct kstack_probe_state state = read_generator(a->probe, a->symbol, cpu);
	uint64_t begin = counter(), old = state.cpu_state[0];

	while (state.cpu_state[0] == old && counter() - begin < PATIENCE_MS * 1000 * a->per_us)
		state = read_generator(a->probe, a->symbol, cpu);
	return state;
}

static uint64_t predicted(const struct attack *a, struct kstack_probe_state *state)
{
	return a->base.moves ? step(state) & state->mask : 0;
}

static void find_hits(const struct attack *a, struct drawn *d, struct kstack_probe_state state,
		      long ahead)
{
	uint64_t next = 0;
	long steps = 0;

	for (size_t i = 0; i < d->count; i++) {
		for (; steps <= d->numbers[i] + ahead; steps++)
			next = predicted(a, &state);
		d->hits[i] = d->positions[i] == a->base.position + (long)next;
	}
}

static size_t hits_of(const struct drawn *d)
{
	size_t hits = 0;

	for (size_t i = 0; i < d->count; i++)
		hits += (size_t)d->hits[i];
	return hits;
}

/*
 * Another task draws, on the same CPU. It may share the state that was read: find how
 * far ahead it was, by its first positions, which do not count as predicted.
 */
static void find_hits_of_task(const struct attack *a, struct drawn *d,
			      struct kstack_probe_state state)
{
	struct drawn first = *d;
	size_t most = 0;
	long ahead = 0;

	first.count = ALIGNING_CALLS;
	for (long tried = 0; tried < MOST_AHEAD; tried++) {
		find_hits(a, &first, state, tried);
		if (hits_of(&first) > most) {
			most = hits_of(&first);
			ahead = tried;
		}
	}
	find_hits(a, d, state, ahead);
	memset(d->hits, 0, ALIGNING_CALLS * sizeof(*d->hits));
}

/* Where one task tells another what it read. */
struct told {
	atomic_bool go, done;
	uint64_t begin;
	struct kstack_probe_state state;
};

/*
 * Read the key of CPU 0 while the task there sleeps for @us and the tick has stopped. To
 * end before it wakes would be work for RCU.
 */
static void read_key_of_sleeper(const struct attack *a, struct told *told, uint64_t us)
{
	stay_on_cpu(1);
	while (!atomic_load(&told->go))
		;
	nap(SLEPT_MS * 1000);
	told->state = read_generator(a->probe, a->symbol, 0);
	told->begin = counter();
	atomic_store(&told->done, true);
	nap(us);
}

/* Return whether the key was read before the task woke, as far as the host let it be. */
static bool play_sleeper(const struct attack *a, struct drawn *d, struct told *told, uint64_t us)
{
	struct kstack_probe_state state;
	pid_t reader = fork_bare();
	bool in_time;

	if (reader == 0) {
		read_key_of_sleeper(a, told, us);
		_exit(0);
	}
	stay_on_cpu(0);
	nap(SETTLE_MS * 1000);
	state = read_new_state(a, 0);
	atomic_store(&told->go, true);
	nap(us);
	in_time = atomic_load(&told->done);
	/* Before the next tick, which would draw a key. */
	draw_for(a, d, told->begin, AWAKE_MS);
	finish_task(reader);
	predicted(a, &state);
	memcpy(state.cpu_state, told->state.cpu_state, sizeof(state.cpu_state));
	find_hits(a, d, state, 0);
	return in_time;
}

/*
 * The task knows its own state before it sleeps; the key is read during its sleep, so
 * that it is as old as that when the task draws.
 */
static void play_round_of_sleeper(const struct attack *a, struct drawn *d)
{
	static unsigned int turn;
	uint64_t us = (SLEPT_MS + SLEEPS_MS * (1 + turn++ % SLEEPS)) * 1000;
	struct told *told = shared(sizeof(*told));

	while (!play_sleeper(a, d, told, us))
		*told = (struct told){ 0 };
	munmap(told, sizeof(*told));
}

static void draw_as_task(const struct attack *a, struct drawn *d, struct told *told)
{
	while (!atomic_load(&told->go))
		sched_yield();
	draw_spinning(a, d, told->begin);
}

static void play_round_of_task(const struct attack *a, struct drawn *d)
{
	struct told *told = shared(sizeof(*told));
	struct kstack_probe_state state;
	pid_t task;

	stay_on_cpu(0);
	task = fork_bare();
	if (task == 0) {
		draw_as_task(a, d, told);
		_exit(0);
	}
	/* So that the task waits already. */
	nap(NAP_US);
	told->begin = counter();
	state = read_generator(a->probe, a->symbol, 0);
	atomic_store(&told->go, true);
	finish_task(task);
	munmap(told, sizeof(*told));
	find_hits_of_task(a, d, state);
}

typedef void drawing(const struct attack *a, struct drawn *d, uint64_t begin);

/* The state is that of the task that draws, with the part of @cpu. */
static void leak_and_draw(const struct attack *a, struct drawn *d, size_t cpu, drawing *draw)
{
	struct kstack_probe_state state = read_new_state(a, cpu);

	draw(a, d, counter());
	find_hits(a, d, state, 0);
}

struct thread_draws {
	const struct attack *a;
	struct drawn *d;
};

static void *draw_in_thread(void *argument)
{
	const struct thread_draws *t = argument;

	leak_and_draw(t->a, t->d, 0, draw_spinning);
	return NULL;
}

static void play_round_of_thread(const struct attack *a, struct drawn *d)
{
	struct thread_draws t = { .a = a, .d = d };
	pthread_t thread;

	stay_on_cpu(0);
	if (pthread_create(&thread, NULL, draw_in_thread, &t) || pthread_join(thread, NULL))
		fail("thread");
}

/*
 * @cpu: where the task draws
 * @leaked_cpu: whose part of the state was read
 * @prepare: what happens before that
 * @draw: how the task draws after it
 */
struct scene {
	const char *name;
	size_t cpu, leaked_cpu;
	void (*prepare)(const struct attack *a);
	drawing *draw;
	/* Or how all of a round is played. */
	void (*play)(const struct attack *a, struct drawn *d);
	/* Percent of the calls, where they take long. */
	size_t share;
	/* NULL: it is possible everywhere. */
	bool (*possible)(const struct attack *a);
};

static const struct scene scenes[] = {
	{ "spinning", 0, 0, NULL, draw_spinning, NULL, 100, NULL },
	{ "napping", 0, 0, NULL, draw_napping, NULL, 30, NULL },
	{ "slept", 0, 0, NULL, NULL, play_round_of_sleeper, 30, NULL },
	{ "thread", 0, 0, NULL, NULL, play_round_of_thread, 100, NULL },
	{ "second_cpu", 1, 1, NULL, draw_spinning, NULL, 100, NULL },
	{ "second_cpu_napping", 1, 1, NULL, draw_napping, NULL, 30, NULL },
	{ "online", 1, 1, read_online, draw_spinning, NULL, 100, NULL },
	{ "hotplug", 1, 1, NULL, draw_after_hotplug, NULL, 100, NULL },
	{ "other_cpu", 1, 0, NULL, draw_spinning, NULL, 100, NULL },
	{ "other_cpu_napping", 1, 0, NULL, draw_napping, NULL, 30, NULL },
	{ "other_task", 0, 0, NULL, NULL, play_round_of_task, 100, NULL },
	{ "suspended", 0, 0, NULL, draw_after_suspend, NULL, 30, can_suspend },
};

enum { SCENES = sizeof(scenes) / sizeof(scenes[0]) };

static void play_round(const struct attack *a, const struct scene *scene, struct drawn *d)
{
	if (scene->play) {
		scene->play(a, d);
		return;
	}
	if (scene->prepare)
		scene->prepare(a);
	stay_on_cpu(scene->cpu);
	leak_and_draw(a, d, scene->leaked_cpu, scene->draw);
}

/* How many calls there were in each millisecond since the leak, and how many hits. */
static void print_drawn(const struct scene *scene, const struct drawn *d)
{
	long calls[MOST_MS] = { 0 }, hits[MOST_MS] = { 0 };
	char name[64];

	for (size_t i = 0; i < d->count; i++) {
		long ms = d->us[i] / 1000;

		ms = ms < MOST_MS ? ms : MOST_MS - 1;
		calls[ms]++;
		hits[ms] += d->hits[i];
	}
	snprintf(name, sizeof(name), "%s_calls", scene->name);
	print_samples(name, calls, MOST_MS);
	snprintf(name, sizeof(name), "%s_hits", scene->name);
	print_samples(name, hits, MOST_MS);
}

static void play(const struct attack *a, const struct scene *scene, size_t calls)
{
	struct drawn all = drawn_create(calls * scene->share / 100 / ROUNDS * ROUNDS);

	for (size_t i = 0; i < ROUNDS; i++) {
		struct drawn d = drawn_in_round(&all, i);

		play_round(a, scene, &d);
	}
	print_drawn(scene, &all);
}

/*
 * Right after a tick that clock is not up to date, either: it counts whole ticks since
 * some moment between two of them. From there it lags behind for a tick more.
 */
static uint64_t learn_usual_lag(int probe, uint64_t per_us, uint64_t tick)
{
	uint64_t begin = counter(), least = UINT64_MAX, lag;

	while (counter() - begin < per_us * 1000 * CALIBRATION_MS) {
		timed_position(probe, &lag);
		least = lag < least ? lag : least;
	}
	return least + tick;
}

int main(int argc, char **argv)
{
	size_t calls = samples_wanted(argc, argv);
	struct attack a = {
		.probe = probe_open(),
		.online = open_hotplug(),
		.suspend = open_suspend(),
		.done = shared(sizeof(*a.done)),
		.symbol = generator_symbol(),
	};
	uint64_t tick = tick_ns();
	long tick_us = (long)tick / 1000, suspends = a.suspend >= 0;

	/* A task would wait for ever for one that failed. */
	alarm(DEADLINE_S);
	need_cpus(CPUS);
	stay_on_cpu(0);
	a.per_us = counts_per_us();
	a.base = learn_base(a.probe);
	a.tick = tick * a.per_us / 1000;
	a.usual_lag = learn_usual_lag(a.probe, a.per_us, tick);
	print_definition("leak_tick_us", &tick_us, 1);
	print_definition("leak_suspends", &suspends, 1);
	for (size_t i = 0; i < SCENES; i++)
		if (!scenes[i].possible || scenes[i].possible(&a))
			play(&a, &scenes[i], calls);
	return 0;
}
