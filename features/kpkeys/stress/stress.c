// SPDX-License-Identifier: Apache-2.0
/*
 * Description: puts the kernel under stress for a given number of seconds, with a
 * process for each kind of operation, and prints what was done and what the kernel
 * counted. Ends with status 0 unless an operation found something wrong.
 */
#define _GNU_SOURCE
#include "work.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_KINDS = 32, HEARTBEAT = 10, STUCK = 120 };

static struct worker {
	const struct kind *kind;
	pid_t pid;
	/* Its count when it was last seen to make progress, and the time of that. */
	unsigned long seen;
	unsigned int since;
} workers[MAX_KINDS];
static size_t workers_number;
/* For each worker: operations, and answers of the kernel meanwhile. */
static unsigned long *done, *answers;
static size_t self;

#define VMSTAT "/proc/vmstat"
static const char *const events[] = {
	"thp_fault_alloc",          "thp_split_pmd", "thp_collapse_alloc", "pswpin", "pswpout",
#ifdef __x86_64__
	"direct_map_level2_splits",
#endif
};
enum { EVENTS = sizeof(events) / sizeof(*events) };

enum { MAX_VALUES = 512 };
static struct values {
	struct value {
		char name[64];
		unsigned long value;
	} all[MAX_VALUES];
	size_t number;
} before, after;

uint32_t below(uint32_t limit)
{
	static uint64_t state;

	if (!state)
		state = (uint64_t)getpid() * 0x9e3779b97f4a7c15;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 32) * limit >> 32);
}

void wrong(const char *what)
{
	fprintf(stderr, "stress: wrong: %s: %s\n", what, strerror(errno));
	_exit(1);
}

void answered(void)
{
	__atomic_fetch_add(&answers[self], 1, __ATOMIC_RELAXED);
}

bool ended_well(int child)
{
	int status;

	if (waitpid(child, &status, 0) != child)
		wrong("waitpid");
	if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGALRM))
		return false;
	if (status)
		wrong("a child failed");
	return true;
}

bool put(const char *path, const char *what)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, what, strlen(what)) == (ssize_t)strlen(what);

	if (fd >= 0)
		close(fd);
	return done;
}

static void must_put(const char *path, const char *what)
{
	if (!put(path, what))
		wrong(path);
}

static void mount_at(const char *where, const char *type)
{
	mkdir(where, 0755);
	if (mount(type, where, type, 0, NULL) && errno != EBUSY)
		wrong(where);
}

/* The header of a swap area, as mkswap writes it. */
static void make_swap(const char *device, size_t size)
{
	uint32_t header[PAGE / 4] = { 0 };
	int fd = open(device, O_WRONLY | O_CLOEXEC);

	header[256] = 1;
	header[257] = (uint32_t)(size / PAGE - 1);
	memcpy((char *)header + PAGE - 10, "SWAPSPACE2", 10);
	if (fd < 0 || write(fd, header, sizeof(header)) != sizeof(header))
		wrong(device);
	close(fd);
	if (swapon(device, 0))
		wrong(device);
}

static void set_up(void)
{
	must_put("/proc/self/oom_score_adj", "-1000");
	mount_at("/sys/kernel/debug", "debugfs");
	if (!load("/tables.ko"))
		wrong("/tables.ko");
	mount_at("/cgroup", "cgroup2");
	must_put("/cgroup/cgroup.subtree_control", "+memory");
	mkdir("/cgroup/limited", 0755);
	must_put("/cgroup/limited/memory.max", "64M");
	must_put("/sys/block/zram0/disksize", "128M");
	make_swap("/dev/zram0", 128 << 20);
	must_put("/proc/sys/kernel/hung_task_timeout_secs", "60");
	/* Collapse pages as soon as possible. */
	must_put("/sys/kernel/mm/transparent_hugepage/enabled", "always");
	must_put("/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs", "100");
}

static void __attribute__((noreturn)) work(size_t number)
{
	const struct kind *kind = workers[number].kind;

	self = number;
	setpgid(0, 0);
	/* The same as khugepaged: below others it would hold its locks for minutes. */
	nice(19);
	must_put("/proc/self/oom_score_adj", "0");
	if (kind->limited)
		must_put("/cgroup/limited/cgroup.procs", "0");
	for (;;)
		done[number] += kind->once();
}

static void start(size_t number)
{
	pid_t pid = fork();

	if (pid == 0)
		work(number);
	/* What it starts must end with it. */
	if (pid > 0)
		setpgid(pid, pid);
	/* If memory is short, look_after() tries again. */
	workers[number].pid = pid > 0 ? pid : 0;
}

static void add(const struct kind *kinds, size_t number)
{
	for (size_t i = 0; i < number; i++)
		workers[workers_number++].kind = &kinds[i];
}

/* Kill all at once: one that must reclaim memory ends late while the others run. */
static void end_all(void)
{
	for (size_t i = 0; i < workers_number; i++)
		if (workers[i].pid)
			kill(-workers[i].pid, SIGKILL);
	for (size_t i = 0; i < workers_number; i++)
		if (workers[i].pid)
			waitpid(workers[i].pid, NULL, 0);
}

/* Restart workers that the kernel killed for memory. Others end only if wrong. */
static void look_after(void)
{
	for (size_t i = 0; i < workers_number; i++) {
		int status;

		if (!workers[i].pid) {
			start(i);
		} else if (waitpid(workers[i].pid, &status, WNOHANG) == workers[i].pid) {
			if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
				fprintf(stderr, "stress: %s ended with %#x\n",
					workers[i].kind->name, (unsigned int)status);
				workers[i].pid = 0;
				end_all();
				exit(1);
			}
			start(i);
		}
	}
}

/* Print where in the kernel a process is, on the line that names its worker. */
static void say_stack(pid_t pid)
{
	char path[64], line[128];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stack", (int)pid);
	file = fopen(path, "re");
	fprintf(stderr, " %d", (int)pid);
	while (file && fgets(line, sizeof(line), file))
		fprintf(stderr, " %.*s", (int)strcspn(line, "\n"), line);
	if (file)
		fclose(file);
}

/* The same for a worker and all that it started. */
static void say_stacks(pid_t worker)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;

	while (processes && (entry = readdir(processes))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0 && getpgid(pid) == worker)
			say_stack(pid);
	}
	if (processes)
		closedir(processes);
	fputc('\n', stderr);
}

/* Report each worker without progress once: a lock held for ever, a lost CPU. */
static void look_for_stuck(unsigned int now)
{
	for (size_t i = 0; i < workers_number; i++) {
		struct worker *worker = &workers[i];

		if (done[i] + answers[i] != worker->seen) {
			worker->seen = done[i] + answers[i];
			worker->since = now;
		} else if (now - worker->since == STUCK) {
			fprintf(stderr, "stress: stuck: %s:", worker->kind->name);
			say_stacks(worker->pid);
		}
	}
}

/* Read a file of names and values. */
static void read_values(const char *path, struct values *values)
{
	FILE *file = fopen(path, "re");
	struct value *one = values->all;

	if (!file)
		wrong(path);
	while (one < values->all + MAX_VALUES &&
	       fscanf(file, "%63s %lu", one->name, &one->value) == 2)
		one++;
	fclose(file);
	values->number = (size_t)(one - values->all);
}

static unsigned long value_of(const struct values *values, const char *name)
{
	for (size_t i = 0; i < values->number; i++)
		if (!strcmp(values->all[i].name, name))
			return values->all[i].value;
	errno = ENOENT;
	wrong(name);
}

/* Print a number, which may be negative. */
static void print(const char *group, const char *name, unsigned long value)
{
	printf("{\"type\":\"samples\",\"name\":\"%s/%s\",\"values\":[%ld]}\n", group, name,
	       (long)value);
}

static void print_all(const char *group, const struct values *values)
{
	for (size_t i = 0; i < values->number; i++)
		print(group, values->all[i].name, values->all[i].value);
}

/*
 * Print what the allocator of keyed pages counts, the tables that the kernel and
 * processes have, and how many more of these there are than at the first call. Return
 * how many keyed pages are in use.
 */
static unsigned long print_pages(const char *group)
{
	static struct values pool, tables, vmstat;
	static unsigned long at_first;
	unsigned long all;
	char name[64];

	read_values("/sys/kernel/debug/kpkeys/pool", &pool);
	read_values("/proc/kpkeys_tables", &tables);
	read_values(VMSTAT, &vmstat);
	all = value_of(&vmstat, "nr_page_table_pages");
	print_all(group, &pool);
	snprintf(name, sizeof(name), "%s/tables", group);
	print_all(name, &tables);
	print(name, "processes", all);
	for (size_t i = 0; i < tables.number; i++)
		all += tables.all[i].value;
	if (!at_first)
		at_first = all;
	print("event", "tables", all - at_first);
	return value_of(&pool, "pages_used");
}

/*
 * Killed processes take a while to end, and tables are freed after a grace period: only
 * the values printed last count.
 */
static void print_what_stays(void)
{
	unsigned long used = ULONG_MAX, before;

	do {
		before = used;
		sleep(3);
		used = print_pages("after");
	} while (used < before);
}

static void say_done(unsigned int seconds)
{
	fprintf(stderr, "stress: %u s:", seconds);
	for (size_t i = 0; i < workers_number; i++)
		fprintf(stderr, " %s %lu", workers[i].kind->name, done[i]);
	fputc('\n', stderr);
}

int main(int argc, char **argv)
{
	unsigned int seconds = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : 0;

	if (!seconds)
		return 0;
	done = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (done == MAP_FAILED)
		wrong("mmap");
	answers = done + MAX_KINDS;
	set_up();
	add(memory_kinds, memory_kinds_number);
	add(system_kinds, system_kinds_number);
	print_pages("before");
	read_values(VMSTAT, &before);
	for (unsigned int i = 0; i < seconds; i++) {
		look_after();
		look_for_stuck(i);
		sleep(1);
		if (i % HEARTBEAT == HEARTBEAT - 1)
			say_done(i + 1);
	}
	end_all();
	read_values(VMSTAT, &after);
	for (size_t i = 0; i < workers_number; i++)
		print("done", workers[i].kind->name, done[i]);
	for (size_t i = 0; i < EVENTS; i++)
		print("event", events[i],
		      value_of(&after, events[i]) - value_of(&before, events[i]));
	print_what_stays();
	return 0;
}
