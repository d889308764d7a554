// SPDX-License-Identifier: MIT OR Apache-2.0
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vgetrandom.h>

#include "check.h"
#include "config.h"
#include "pool_count.h"
#include "step_paths.h"
#include "sys.h"
#include "thread.h"

enum {
	PATH_BYTES = 4096,
	BATCH_BYTES = 40,
	PREWARMED_SLOTS = 4,
	FURTHER_DRAWS = 100,
	/* More than the slots of a chunk of the pool. */
	POOL_TAKES = 64,
	/* Instructions at either end of a path that are never skipped, and stops in between. */
	DENSE = 64,
	SPARSE = 40,
	/*
	 * The kernel reseeds from time to time, which takes a system call and another path. Also,
	 * four bytes may be equal by chance.
	 */
	ATTEMPTS = 3,
	WINDOWS = 1 << 16,
	/* Per path: the clock's code sometimes carries a second, which changes its path. */
	MISSED_MAX = 64,
};

struct shared *shared;

static const struct path *played;
static const struct event *event_played;
static struct draws *drawn;
static sigjmp_buf landing;
static uint8_t buffer[PATH_BYTES];
static pthread_key_t before_key, after_key;

static void *log_draw(struct draws *draws, uint32_t len)
{
	struct draw *draw = &draws->draw[draws->count];

	check(draws->count < DRAWS_MAX && len <= DRAWN_MAX - draws->used, "the log is full");
	draws->count++;
	*draw = (struct draw){ .at = draws->used, .len = len };
	draws->used += len;
	return draws->bytes + draw->at;
}

static void draw_pass_through(struct draws *draws, uint32_t len)
{
	check(vgetrandom(log_draw(draws, len), len, 0) == (ssize_t)len, "%u bytes", len);
}

static void draw_batch_bytes(struct draws *draws, uint32_t len)
{
	vgetrandom_batch_bytes(log_draw(draws, len), len);
}

static void draw_batch_u64(struct draws *draws)
{
	uint64_t *value = log_draw(draws, sizeof(*value)), got = vgetrandom_batch_u64();

	memcpy(value, &got, sizeof(got));
}

static void draw_batch_u32(struct draws *draws)
{
	uint32_t *value = log_draw(draws, sizeof(*value)), got = vgetrandom_batch_u32();

	memcpy(value, &got, sizeof(got));
}

void draw_all(struct draws *draws)
{
	draw_pass_through(draws, 4);
	draw_batch_u64(draws);
	draw_pass_through(draws, 16);
	draw_pass_through(draws, 300);
	draw_batch_u32(draws);
	draw_batch_bytes(draws, BATCH_BYTES);
	draw_pass_through(draws, PATH_BYTES);
}

/* The interrupted call comes first in the log, before those of handlers. */
static void log_start(struct draws *draws)
{
	drawn = draws;
	log_draw(draws, played->len);
}

static void log_path(bool returned)
{
	memcpy(drawn->bytes, buffer, played->len);
	shared->returned = returned;
}

static void run_pass_through(void)
{
	check(vgetrandom(buffer, played->len, 0) == (ssize_t)played->len, "not all of it");
}

static void run_batch_u64(void)
{
	uint64_t value = vgetrandom_batch_u64();

	memcpy(buffer, &value, sizeof(value));
}

static void run_batch_u32(void)
{
	uint32_t value = vgetrandom_batch_u32();

	memcpy(buffer, &value, sizeof(value));
}

static void run_batch_bytes(void)
{
	vgetrandom_batch_bytes(buffer, played->len);
}

static void run_prewarm(void)
{
	int err = vgetrandom_prewarm();

	check(!err, "error %d", err);
}

static void *raw_state;

static void run_vdso(void)
{
	vgr_config.vdso(buffer, played->len, 0, raw_state, vgr_config.params.size_of_opaque_state);
}

static void prepare_vdso(void)
{
	raw_state = sys_mmap(SLOT_PAGE_SIZE, (int)vgr_config.params.mmap_prot,
			     (int)vgr_config.params.mmap_flags);
	check(raw_state, "no memory");
	vgr_config.vdso(buffer, 1, 0, raw_state, vgr_config.params.size_of_opaque_state);
}

static void prepare_nothing(void)
{
}

static void prepare_warm(void)
{
	run_prewarm();
}

/* Makes sure that the next draw does not check the age. */
static void prepare_batch(void)
{
	run_prewarm();
	do
		vgetrandom_batch_u64();
	while (vgr_thread.ready->batch_left < vgr_thread.ready->batch_stop + 2 * BATCH_BYTES);
}

static void prepare_empty_batch(void)
{
	run_prewarm();
	while (vgr_thread.ready->batch_left >= sizeof(uint64_t))
		vgetrandom_batch_u64();
	/* A tick of the clock since then would change the path by an instruction or two. */
	vgr_thread.ready->seen_at = 0;
}

/* libc calls these destructors in this order, and the library's between them. */
__attribute__((constructor(101))) static void make_before_key(void);
static void end_of_thread_begins(void *unused);
static void end_of_thread_ends(void *unused);

static void make_before_key(void)
{
	check(!pthread_key_create(&before_key, end_of_thread_begins), "no key");
}

static void prepare_end(void)
{
	run_prewarm();
	check(!pthread_key_create(&after_key, end_of_thread_ends), "no key");
	pthread_setspecific(before_key, &before_key);
	pthread_setspecific(after_key, &after_key);
}

static void run_end(void)
{
	pthread_exit(NULL);
}

/* refill draws more than a state holds. */
const struct path paths[] = {
	{ "first", prepare_nothing, run_pass_through, 16, false, false, 1 },
	{ "small", prepare_warm, run_pass_through, 4, true, false, 1 },
	{ "refill", prepare_warm, run_pass_through, 100, true, false, 1 },
	{ "bulk", prepare_warm, run_pass_through, 300, true, false, 1 },
	{ "bulk_page", prepare_warm, run_pass_through, PATH_BYTES, true, false, 1 },
	{ "batch_u32", prepare_batch, run_batch_u32, 4, true, false, 1 },
	{ "batch_u64", prepare_batch, run_batch_u64, 8, true, false, 1 },
	{ "batch_bytes", prepare_batch, run_batch_bytes, BATCH_BYTES, true, false, 1 },
	{ "batch_look", prepare_warm, run_batch_u64, 8, true, false, 1 },
	{ "batch_refill", prepare_empty_batch, run_batch_u32, 4, true, false, 1 },
	{ "prewarm", prepare_nothing, run_prewarm, 0, false, false, PREWARMED_SLOTS },
	{ "release", prepare_warm, vgetrandom_release, 0, false, false, PREWARMED_SLOTS },
	{ "thread_end", prepare_end, run_end, 0, true, true, 1 },
	{ 0 },
};

const struct path path_vdso = { "vdso", prepare_vdso, run_vdso, 100, false, false, 1 };

static bool is_owned(const struct slot *slot)
{
	for (const struct slot *owned = vgr_thread.owned; owned; owned = owned->next) {
		if (owned == slot)
			return true;
	}
	return slot == vgr_thread.ready;
}

/* Otherwise the next thread to take them would draw from the same state. */
static void check_pool(void)
{
	struct slot *taken[POOL_TAKES];

	for (int i = 0; i < POOL_TAKES; i++) {
		taken[i] = vgr_pool_take();
		check(!is_owned(taken[i]), "the pool gives away a slot of this thread");
	}
	for (int i = 0; i < POOL_TAKES; i++)
		vgr_pool_give(taken[i]);
}

static unsigned int count_owned(void)
{
	unsigned int count = 0;

	for (const struct slot *slot = vgr_thread.owned; slot; slot = slot->next)
		count++;
	return count;
}

/* What the child does after the interrupted call. */
_Noreturn static void play_rest(bool returned)
{
	int status;

	stepper_mark();
	log_path(returned);
	if (!played->warm || event_played->cold)
		draw_all(drawn);
	stepper_mark();
	for (int i = 0; i < FURTHER_DRAWS; i++) {
		if (i % 2)
			draw_pass_through(drawn, 16);
		else
			draw_batch_u64(drawn);
	}
	draw_all(drawn);
	stepper_mark();
	check(vgetrandom_status() == (played->ends ? VGETRANDOM_BORROWED : VGETRANDOM_VDSO), "%s",
	      vgetrandom_status_text(vgetrandom_status()));
	shared->owned = count_owned();
	check_pool();
	if (event_played->returns) {
		vgetrandom_release();
		pool_check_taken(0);
	}
	while (wait(&status) > 0)
		check(status == 0, "the copy failed, wait status %#x", status);
	_exit(EXIT_SUCCESS);
}

static void end_of_thread_begins(void *unused)
{
	(void)unused;
	stepper_mark();
}

static void end_of_thread_ends(void *unused)
{
	(void)unused;
	play_rest(true);
}

static void play(void)
{
	struct sigaction action = { .sa_handler = event_played->handler };

	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	log_start(&shared->drawn);
	played->prepare();
	memset(buffer, 0, sizeof(buffer));
	if (sigsetjmp(landing, 1))
		play_rest(false);
	if (!played->ends)
		stepper_mark();
	played->run();
	play_rest(true);
}

_Noreturn void path_leave(void)
{
	siglongjmp(landing, 1);
}

void path_is_copy(void)
{
	stepper_untraced();
	log_start(&shared->copy_drawn);
}

/* All windows of eight bytes that were seen. */
static uint64_t windows[WINDOWS];

/* Returns false if it was already there. Not for zero, which marks empty places. */
static bool windows_add(uint64_t window)
{
	size_t at = window * 0x9e3779b97f4a7c15 >> 48;

	for (;; at = (at + 1) % WINDOWS) {
		if (windows[at] == window)
			return false;
		if (windows[at])
			continue;
		windows[at] = window;
		return true;
	}
}

static void check_windows(const struct draws *draws, uint32_t i, bool complete)
{
	const struct draw *draw = &draws->draw[i];

	for (uint32_t at = 0; at + sizeof(uint64_t) <= draw->len; at++) {
		uint64_t window;

		memcpy(&window, draws->bytes + draw->at + at, sizeof(window));
		/* Some of it was not written, or only in part. */
		if (!complete && memchr(&window, 0, sizeof(window)))
			continue;
		check(window, "draw %u is zero at byte %u of %u", i, at, draw->len);
		check(windows_add(window), "draw %u was seen before, at byte %u of %u", i, at,
		      draw->len);
	}
}

/* Whether a draw that is not 8 bytes long begins like another. */
static bool any_small_same(const struct draws *draws)
{
	for (uint32_t i = 0; i < draws->count; i++) {
		const uint8_t *value = draws->bytes + draws->draw[i].at;
		static const uint8_t zero[4];

		if (draws->draw[i].len != sizeof(zero))
			continue;
		if ((i || shared->returned) && !memcmp(value, zero, sizeof(zero)))
			return true;
		for (uint32_t j = 0; j < draws->count; j++) {
			if (j != i && draws->draw[j].len &&
			    !memcmp(value, draws->bytes + draws->draw[j].at, sizeof(zero)))
				return true;
		}
	}
	return false;
}

bool interrupted_same(void)
{
	const uint8_t *one = shared->drawn.bytes, *other = shared->copy_drawn.bytes;
	uint32_t len = shared->copy_drawn.count ? shared->copy_drawn.draw[0].len : 0;
	uint32_t same = len < sizeof(uint64_t) ? len : sizeof(uint64_t);

	for (uint32_t at = 0; len && at + same <= len; at++) {
		if (!memcmp(one + at, other + at, same))
			return true;
	}
	return false;
}

/* Eight bytes are never equal, or zero, by chance. */
static void check_distinct(void)
{
	memset(windows, 0, sizeof(windows));
	for (uint32_t i = 0; i < shared->drawn.count; i++)
		check_windows(&shared->drawn, i, i || shared->returned);
	for (uint32_t i = interrupted_same(); i < shared->copy_drawn.count; i++)
		check_windows(&shared->copy_drawn, i, true);
}

/* Printed with a failure. */
static size_t stopped_index;
static uintptr_t stopped_at;
static const char *outcome;
static unsigned int missed;

static void say_where(void)
{
	if (stopped_at)
		fprintf(stderr, "path %s, instruction %zu at %#zx\n", played->name, stopped_index,
			stopped_at);
}

/* Starts with an empty log. */
static pid_t start_playing(void)
{
	shared->drawn.count = shared->drawn.used = 0;
	shared->copy_drawn.count = shared->copy_drawn.used = 0;
	return stepper_start(play);
}

static void record_once(struct trace *trace)
{
	pid_t pid = start_playing();

	stepper_record(pid, trace);
	stepper_run_to_mark(pid);
	stepper_run_to_mark(pid);
	check(stepper_end(pid) == EXIT_SUCCESS, "%s fails without anything in between",
	      played->name);
}

/* Keeps the shortest of several: if the kernel has just reseeded, one call takes longer. */
static void record(struct trace *trace)
{
	record_once(trace);
	for (int attempt = 1; attempt < ATTEMPTS; attempt++) {
		struct trace again;

		record_once(&again);
		if (again.count < trace->count) {
			struct trace longer = *trace;

			*trace = again;
			again = longer;
		}
		trace_free(&again);
	}
}

/* Returns false for what chance or the kernel may cause from time to time, but not always. */
static bool step_once(const struct trace *trace, size_t index)
{
	/* Nothing gives back what a thread keeps after its end. */
	unsigned int slots = played->ends ? 0
					  : event_played->slots + (played->warm ? PREWARMED_SLOTS
										: played->depth);
	pid_t pid;
	bool there;
	unsigned int calls;

	pid = start_playing();
	there = stepper_run_to(pid, trace, index);
	if (there)
		event_played->inject(pid, trace, index);
	stepper_run_to_mark(pid);
	calls = stepper_count_system_calls(pid);
	check(stepper_end(pid) == EXIT_SUCCESS, "the child failed");
	check(shared->owned <= slots, "%u slots, instead of %u", shared->owned, slots);
	check_distinct();
	outcome = calls                            ? "not on the fast path afterwards"
		  : any_small_same(&shared->drawn) ? "the same four bytes twice, or zero"
						   : NULL;
	return there && !outcome;
}

static void step_at(const struct trace *trace, size_t index)
{
	int attempt = 0;

	stopped_at = trace->pc[index];
	stopped_index = index;
	while (!step_once(trace, index)) {
		if (++attempt < ATTEMPTS)
			continue;
		check(!outcome, "%s", outcome);
		missed++;
		return;
	}
	if (event_played->after)
		event_played->after(trace, index);
}

/* The next stop after index. */
static size_t next_stop(size_t index, size_t count, bool every_instruction)
{
	size_t step = count / SPARSE + 1;

	if (every_instruction || index < DENSE || index + DENSE + step >= count)
		return index + 1;
	return index + step;
}

void step_path(const struct path *path, const struct event *event, bool every_instruction)
{
	struct trace trace;
	unsigned int stops = 0;

	played = path;
	event_played = event;
	missed = 0;
	record(&trace);
	for (size_t i = 0; i < trace.count; i = next_stop(i, trace.count, every_instruction)) {
		step_at(&trace, i);
		stops++;
	}
	printf("%s: %zu instructions, stopped at %u\n", path->name, trace.count, stops - missed);
	check(missed <= MISSED_MAX, "the child never came to %u instructions again", missed);
	fflush(stdout);
	if (event->after_all)
		event->after_all(path, &trace);
	stopped_at = 0;
	trace_free(&trace);
}

void paths_prepare(void)
{
	vgr_config_need();
	if (!vgr_config.vdso)
		cannot_run("the kernel has no vDSO getrandom");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	check(shared != MAP_FAILED, "%s", strerror(errno));
	atexit(say_where);
}

void step_paths(int argc, char **argv, const struct event *event)
{
	bool every_instruction = argc > 1 && !strcmp(argv[1], "all");
	char **names = argv + 1 + every_instruction;

	for (const struct path *path = paths; path->name; path++) {
		bool wanted = !*names;

		for (char **name = names; *name; name++)
			wanted = wanted || !strcmp(*name, path->name);
		if (wanted && !(event->leaves && path->ends))
			step_path(path, event, every_instruction);
	}
}
