// SPDX-License-Identifier: MIT OR Apache-2.0
/* Description: a program opens the shared object while threads run, which then draw. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#include "check.h"

enum {
	THREADS = 8,
};

typedef ssize_t vgetrandom_fn(void *buf, size_t len, unsigned int flags);

static vgetrandom_fn *draw;
static pthread_barrier_t opened;

static void *draw_when_opened(void *value)
{
	pthread_barrier_wait(&opened);
	check(draw(value, sizeof(uint64_t), 0) == sizeof(uint64_t), "a draw");
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t values[THREADS];
	pthread_t threads[THREADS];
	void *library;

	check(argc == 2, "usage: open_library LIBRARY");
	check(!pthread_barrier_init(&opened, NULL, THREADS + 1), "a barrier");
	for (int i = 0; i < THREADS; i++)
		check(!pthread_create(&threads[i], NULL, draw_when_opened, &values[i]), "a thread");
	library = dlopen(argv[1], RTLD_NOW);
	check(library, "%s", dlerror());
	draw = (vgetrandom_fn *)dlsym(library, "vgetrandom");
	check(draw, "%s", dlerror());
	pthread_barrier_wait(&opened);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 1; i < THREADS; i++)
		check(values[i] != values[0], "two threads drew the same");
	return 0;
}
