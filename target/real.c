// SPDX-License-Identifier: Apache-2.0
/*
 * Description: times runs of a real program, which come with all they need out of
 * Debian's packages. /commands/NAME says what to run, a line for each of these:
 *
 *   server COMMAND    runs from before the first sample until after the last
 *   ready SOCKET      the Unix socket on which the server takes connections
 *   client COMMAND    what one sample runs; it must end with status 0
 *   says TEXT         part of what the client prints if it did its work
 *   operations N      how many operations that is
 *
 * The client reads /commands/NAME.stdin.
 *
 * Usage: real NAME SAMPLES WARMUP
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "one_cpu.h"
#include "sample.h"
#include "programs.h"

#define SERVER_LOG "/tmp/server"
#define CLIENT_LOG "/tmp/client"

enum { MAX_WORDS = 64, MAX_TEXT = 1024, WAIT_SECONDS = 60 };

struct command {
	char *words[MAX_WORDS + 1];
};

static struct spec {
	struct command server, client;
	char *ready, *says;
	unsigned int operations;
} spec;
static char input[256];
static pid_t server;

static void stop_server(void)
{
	if (server > 0 && !kill(server, SIGTERM))
		waitpid(server, NULL, 0);
	server = 0;
}

static void __attribute__((noreturn)) fail(const char *what)
{
	perror(what);
	stop_server();
	exit(1);
}

/* The end of what a program printed, as one line. */
static const char *last_words(const char *log)
{
	static char text[MAX_TEXT];
	FILE *file = fopen(log, "re");
	size_t size = 0;

	if (file) {
		fseek(file, 0, SEEK_END);
		if (ftell(file) < MAX_TEXT)
			rewind(file);
		else
			fseek(file, 1 - MAX_TEXT, SEEK_END);
		size = fread(text, 1, MAX_TEXT - 1, file);
		fclose(file);
	}
	text[size] = '\0';
	for (char *at = text; (at = strpbrk(at, "\r\n"));)
		*at = ' ';
	return text;
}

static void __attribute__((noreturn)) blame(const struct command *who, const char *what,
					    const char *log)
{
	fprintf(stderr, "%s %s; it printed: %s\n", who->words[0], what, last_words(log));
	stop_server();
	exit(1);
}

static void split(char *line, struct command *command)
{
	int count = 0;

	while (count < MAX_WORDS && (command->words[count] = strsep(&line, " ")))
		count++;
	if (count == MAX_WORDS) {
		errno = E2BIG;
		fail(command->words[0]);
	}
}

static void __attribute__((noreturn)) unknown(const char *key)
{
	errno = EINVAL;
	fail(key);
}

static void take(char *line)
{
	char *value = line, *key = strsep(&value, " ");

	if (!value)
		return;
	if (!strcmp(key, "server"))
		split(value, &spec.server);
	else if (!strcmp(key, "client"))
		split(value, &spec.client);
	else if (!strcmp(key, "ready"))
		spec.ready = value;
	else if (!strcmp(key, "says"))
		spec.says = value;
	else if (!strcmp(key, "operations"))
		spec.operations = (unsigned int)strtoul(value, NULL, 10);
	else
		unknown(key);
}

/* The lines stay in memory: what was taken points into them. */
static void read_spec(const char *name)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "/commands/%s", name);
	snprintf(input, sizeof(input), "/commands/%s.stdin", name);
	file = fopen(path, "re");
	if (!file)
		fail(path);
	for (;;) {
		char *line = NULL;
		size_t size = 0;

		if (getline(&line, &size, file) < 0)
			break;
		line[strcspn(line, "\n")] = '\0';
		take(line);
	}
	fclose(file);
	if (!spec.client.words[0] || !spec.says || !spec.operations) {
		errno = EINVAL;
		fail(path);
	}
}

/* Start a command with its input from a file and its output to one. */
static pid_t start(const struct command *command, const char *log)
{
	posix_spawn_file_actions_t files;
	pid_t program;

	if (posix_spawn_file_actions_init(&files) ||
	    posix_spawn_file_actions_addopen(&files, 0, input, O_RDONLY, 0) ||
	    posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600) ||
	    posix_spawn_file_actions_adddup2(&files, 1, 2))
		fail("file actions");
	program = start_program(command->words, &files);
	posix_spawn_file_actions_destroy(&files);
	return program;
}

static bool answers(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool connected;

	if (fd < 0)
		fail("socket");
	strncpy(address.sun_path, spec.ready, sizeof(address.sun_path) - 1);
	connected = !connect(fd, (struct sockaddr *)&address, sizeof(address));
	close(fd);
	return connected;
}

static void start_server(void)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	int status;

	server = start(&spec.server, SERVER_LOG);
	for (int tries = 0; !answers(); tries++) {
		if (waitpid(server, &status, WNOHANG) == server) {
			server = 0;
			blame(&spec.server, "ended at once", SERVER_LOG);
		}
		if (tries == WAIT_SECONDS * 100)
			blame(&spec.server, "takes no connection", SERVER_LOG);
		nanosleep(&pause, NULL);
	}
}

static void run_client(void)
{
	pid_t client = start(&spec.client, CLIENT_LOG);
	int status;

	if (waitpid(client, &status, 0) != client)
		fail("waitpid");
	if (status)
		blame(&spec.client, "failed", CLIENT_LOG);
}

static void time_clients(struct samples *s, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t begin = clock_begin(), value;

		run_client();
		value = clock_end() - begin;
		samples_put(s, value, false);
		if (!strstr(last_words(CLIENT_LOG), spec.says))
			blame(&spec.client, "did not do its work", CLIENT_LOG);
	}
}

int main(int argc, char **argv)
{
	struct samples *warm, *s;
	struct workload w;
	uint64_t begin;

	if (argc != 4) {
		fprintf(stderr, "usage: %s NAME SAMPLES WARMUP\n", argv[0]);
		return 1;
	}
	read_spec(argv[1]);
	w = (struct workload){
		.name = argv[1],
		.count = strtoull(argv[2], NULL, 10),
		.warmup = strtoull(argv[3], NULL, 10),
		.operations = spec.operations,
		.overhead = clock_overhead(),
	};
	prepare_programs();
	share_a_cpu();
	if (spec.server.words[0])
		start_server();
	warm = samples_create();
	samples_begin(warm);
	time_clients(warm, w.warmup);
	samples_destroy(warm);

	s = samples_create();
	samples_begin(s);
	marker_begin();
	begin = clock_begin();
	time_clients(s, w.count);
	w.elapsed = clock_end() - begin;
	marker_end_drained();
	samples_end(s);
	stop_server();
	samples_print(s, &w);
	samples_destroy(s);
	return 0;
}
