// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Description: threads draw by a plug-in that the static library is linked into, and end after the
 * program closed it, which then forks; again and again.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum {
	THREADS = 8,
	/* More than any libc has room for, if the room were not given back. */
	TIMES = 200,
};

typedef uint64_t draw_fn(void);

static draw_fn *draw;
static pthread_barrier_t drawn, closed;

static void *draw_and_wait(void *value)
{
	*(uint64_t *)value = draw();
	pthread_barrier_wait(&drawn);
	pthread_barrier_wait(&closed);
	return NULL;
}

/* musl keeps everything loaded. */
static void check_unloaded(const char *path)
{
#ifdef __GLIBC__
	check(!dlopen(path, RTLD_NOW | RTLD_NOLOAD), "%s is still loaded", path);
#else
	(void)path;
#endif
}

/* libc calls nothing of the plug-in there either. */
static void check_fork(void)
{
	pid_t child = fork();
	int status = -1;

	if (child == 0)
		_exit(0);
	check(child > 0 && waitpid(child, &status, 0) == child && status == 0,
	      "a fork ends with %#x", (unsigned int)status);
}

static void use_and_close(const char *path)
{
	uint64_t values[THREADS] = { 0 };
	pthread_t threads[THREADS];
	void *plugin = dlopen(path, RTLD_NOW);

	check(plugin, "%s", dlerror());
	draw = (draw_fn *)dlsym(plugin, "plugin_draw");
	check(draw, "%s", dlerror());
	for (int i = 0; i < THREADS; i++)
		check(!pthread_create(&threads[i], NULL, draw_and_wait, &values[i]), "thread %d",
		      i);
	pthread_barrier_wait(&drawn);
	dlclose(plugin);
	check_unloaded(path);
	check_fork();
	pthread_barrier_wait(&closed);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		check(values[i], "thread %d drew nothing", i);
	}
}

int main(int argc, char **argv)
{
	check(argc == 2, "usage: plugin_unload PLUGIN");
	check(!pthread_barrier_init(&drawn, NULL, THREADS + 1), "a barrier");
	check(!pthread_barrier_init(&closed, NULL, THREADS + 1), "a barrier");
	for (int i = 0; i < TIMES; i++)
		use_and_close(argv[1]);
	printf("closed %d times before the ends of %d threads\n", TIMES, THREADS);
	return 0;
}
