// SPDX-License-Identifier: Apache-2.0
#include "sample.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"

enum {
	NEAR = 1 << 16, /* an array counts the values below this */
	FAR = 1 << 20,  /* so many values at or above NEAR are kept one by one */
	BINS_PER_RECORD = 500,
	DRAIN_NS = 100000000, /* ten ticks of a kernel with a hundred a second */
};

struct far {
	uint64_t value;
	bool tick;
};

struct bin {
	struct far far;
	uint64_t calls;
};

struct samples {
	uint32_t near[2][NEAR];
	struct far far[FAR];
	size_t nr_far;
	uint64_t sequence;
	uint64_t last_tick;
	uint64_t interrupts;
	struct bin *bins; /* what no longer fitted into far, sorted */
	size_t nr_bins;
};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

uint64_t tick_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clock_overhead(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 1000; i++) {
		uint64_t begin = clock_begin();
		uint64_t apart = clock_end() - begin;

		if (apart < least)
			least = apart;
	}
	return least;
}

/* All interrupts since boot, over all CPUs: the first number of "intr". */
static uint64_t count_interrupts(void)
{
	FILE *stat = fopen("/proc/stat", "r");
	uint64_t count = 0;
	char word[64];

	if (!stat)
		fail("/proc/stat");
	while (fscanf(stat, "%63s", word) == 1) {
		if (strcmp(word, "intr"))
			continue;
		if (fscanf(stat, "%" SCNu64, &count) != 1)
			fail("/proc/stat: intr");
		break;
	}
	fclose(stat);
	return count;
}

struct samples *samples_create(void)
{
	struct samples *s = malloc(sizeof(*s));

	if (!s)
		fail("samples");
	/* Touch every page now, so that no sample pays for a page fault. */
	memset(s, 0, sizeof(*s));
	s->sequence = 14695981039346656037u;
	return s;
}

void samples_destroy(struct samples *s)
{
	free(s->bins);
	free(s);
}

void samples_hide(struct samples *s)
{
	uintptr_t page = (uintptr_t)getpagesize();
	uintptr_t begin = ((uintptr_t)s + page - 1) & -page;
	uintptr_t end = (uintptr_t)(s + 1) & -page;

	if (madvise((void *)begin, end - begin, MADV_DONTFORK))
		fail("samples");
}

void samples_begin(struct samples *s)
{
	s->interrupts = count_interrupts();
	s->last_tick = tick_clock();
}

void samples_end(struct samples *s)
{
	s->interrupts = count_interrupts() - s->interrupts;
}

/* On one CPU membarrier() returns at once, so nothing but time waits for RCU. */
void marker_end_drained(void)
{
	const struct timespec drain = { .tv_nsec = DRAIN_NS };

	marker_pause();
	if (nanosleep(&drain, NULL))
		fail("drain");
	marker_end();
}

static int compare_far(const void *a, const void *b)
{
	const struct far *x = a, *y = b;

	if (x->tick != y->tick)
		return x->tick - y->tick;
	return (x->value > y->value) - (x->value < y->value);
}

static void append(struct bin *bins, size_t *nr, struct far far, uint64_t calls)
{
	if (*nr && !compare_far(&bins[*nr - 1].far, &far))
		bins[*nr - 1].calls += calls;
	else
		bins[(*nr)++] = (struct bin){ .far = far, .calls = calls };
}

/* Move all far values into the bins. */
static void spill(struct samples *s)
{
	struct bin *merged = malloc((s->nr_bins + s->nr_far + 1) * sizeof(*merged));
	size_t nr = 0, old = 0;

	if (!merged)
		fail("samples");
	qsort(s->far, s->nr_far, sizeof(s->far[0]), compare_far);
	for (size_t i = 0; i < s->nr_far; i++) {
		for (; old < s->nr_bins && compare_far(&s->bins[old].far, &s->far[i]) < 0; old++)
			append(merged, &nr, s->bins[old].far, s->bins[old].calls);
		append(merged, &nr, s->far[i], 1);
	}
	for (; old < s->nr_bins; old++)
		append(merged, &nr, s->bins[old].far, s->bins[old].calls);
	free(s->bins);
	s->bins = realloc(merged, (nr + 1) * sizeof(*merged));
	if (!s->bins)
		fail("samples");
	s->nr_bins = nr;
	s->nr_far = 0;
}

/* Apart, and called last, so that samples_put() needs no stack for it. */
static __attribute__((noinline)) void spill_and_keep(struct samples *s, uint64_t value, bool tick)
{
	spill(s);
	s->far[s->nr_far++] = (struct far){ .value = value, .tick = tick };
}

void samples_put(struct samples *s, uint64_t value, bool tick)
{
	/* FNV-1a by words: two boots agree only if all samples do, in order. */
	s->sequence = (s->sequence ^ value) * 1099511628211u;
	if (value < NEAR) {
		s->near[tick][value]++;
		return;
	}
	if (s->nr_far == FAR) {
		spill_and_keep(s, value, tick);
		return;
	}
	s->far[s->nr_far++] = (struct far){ .value = value, .tick = tick };
}

void samples_add(struct samples *s, uint64_t value, uint64_t tick_now)
{
	samples_put(s, value, tick_now != s->last_tick);
	s->last_tick = tick_now;
}

/* One histogram, printed as records of at most BINS_PER_RECORD bins. */
struct printer {
	const char *workload;
	bool tick;
	unsigned int bins;
};

static void print_bin(struct printer *p, uint64_t value, uint64_t calls)
{
	if (p->bins == BINS_PER_RECORD) {
		puts("]}");
		p->bins = 0;
	}
	if (p->bins == 0)
		printf("{\"type\":\"histogram\",\"workload\":\"%s\",\"tick\":%s,\"bins\":[",
		       p->workload, p->tick ? "true" : "false");
	printf("%s[%" PRIu64 ",%" PRIu64 "]", p->bins ? "," : "", value, calls);
	p->bins++;
}

static void print_histogram(const struct samples *s, const char *workload, bool tick)
{
	struct printer p = { .workload = workload, .tick = tick };

	for (size_t value = 0; value < NEAR; value++)
		if (s->near[tick][value])
			print_bin(&p, value, s->near[tick][value]);
	for (size_t i = 0; i < s->nr_bins; i++)
		if (s->bins[i].far.tick == tick)
			print_bin(&p, s->bins[i].far.value, s->bins[i].calls);
	if (p.bins)
		puts("]}");
}

/* Init counts the marked regions of the boot and says which one is ours. */
static unsigned int region(void)
{
	const char *given = getenv("TEMPER_REGION");

	return given ? (unsigned int)strtoul(given, NULL, 10) : 0;
}

void samples_print(struct samples *s, const struct workload *w)
{
	const char *unit = getenv("TEMPER_UNIT");

	spill(s);
	print_histogram(s, w->name, false);
	print_histogram(s, w->name, true);
	printf("{\"type\":\"workload\",\"workload\":\"%s\",\"unit\":\"%s\","
	       "\"samples\":%" PRIu64 ",\"warmup\":%" PRIu64 ",\"operations\":%u,"
	       "\"overhead\":%" PRIu64 ",\"sequence\":\"%016" PRIx64 "\","
	       "\"elapsed\":%" PRIu64 ",\"interrupts\":%" PRIu64 ",\"region\":%u}\n",
	       w->name, unit ? unit : "cycles", w->count, w->warmup, w->operations, w->overhead,
	       s->sequence, w->elapsed, s->interrupts, region());
}
