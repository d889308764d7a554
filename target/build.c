// SPDX-License-Identifier: Apache-2.0
/*
 * Description: times the build of a program with the host's C compiler, which is in the
 * initramfs: the driver runs compiler, assembler and linker, each as a process with its
 * files, libraries and memory.
 *
 * It builds the running init from the same source in the same way: each result must
 * equal it, byte for byte.
 *
 * Usage: build cc SAMPLES WARMUP
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/arch.h"
#include "sample.h"
#include "programs.h"

#define ORIGINAL "/init"
#define BUILT    "/built"

static char *const command[] = {
	"gcc", "-std=gnu11", "-O2",     "-static", "-fno-use-linker-plugin",
	"-o",  BUILT,        "/init.c", NULL
};

static void __attribute__((noreturn)) fail(const char *what)
{
	perror(what);
	exit(1);
}

static void build(void)
{
	pid_t driver = start_program(command, NULL);
	int status;

	if (waitpid(driver, &status, 0) != driver)
		fail("waitpid");
	if (status) {
		fprintf(stderr, "%s ended with wait status %d\n", command[0], status);
		exit(1);
	}
}

static const char *map_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	void *content;

	if (fd < 0 || fstat(fd, &status))
		fail(path);
	*size = (size_t)status.st_size;
	content = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (content == MAP_FAILED)
		fail(path);
	close(fd);
	return content;
}

static void check_built(void)
{
	size_t size, built_size;
	const char *original = map_file(ORIGINAL, &size);
	const char *built = map_file(BUILT, &built_size);

	if (size != built_size || memcmp(original, built, size)) {
		fprintf(stderr, "%s is not what %s was built from\n", BUILT, ORIGINAL);
		exit(1);
	}
	munmap((void *)original, size);
	munmap((void *)built, size);
}

static void time_builds(struct samples *s, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t begin = clock_begin(), value;

		build();
		value = clock_end() - begin;
		samples_put(s, value, false);
	}
}

int main(int argc, char **argv)
{
	struct samples *warm, *s;
	struct workload w;
	uint64_t begin;

	if (argc != 4 || strcmp(argv[1], "cc")) {
		fprintf(stderr, "usage: %s cc BUILDS WARMUP\n", argv[0]);
		return 1;
	}
	w = (struct workload){
		.name = "build/cc",
		.count = strtoull(argv[2], NULL, 10),
		.warmup = strtoull(argv[3], NULL, 10),
		.operations = 1,
		.overhead = clock_overhead(),
	};
	prepare_programs();
	warm = samples_create();
	samples_begin(warm);
	time_builds(warm, w.warmup);
	samples_destroy(warm);

	s = samples_create();
	samples_begin(s);
	marker_begin();
	begin = clock_begin();
	time_builds(s, w.count);
	w.elapsed = clock_end() - begin;
	marker_end_drained();
	samples_end(s);
	check_built();
	samples_print(s, &w);
	samples_destroy(s);
	return 0;
}
