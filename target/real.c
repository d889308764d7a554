// SPDX-License-Identifier: Apache-2.0
/*
 * Description: times runs of a real program, which come with all they need out of
 * Debian's packages. /commands/NAME says what to run, a line for each of these:
 *
 *   user ID           who runs all of this; otherwise root does
 *   setup COMMAND     runs once before the server; in the order of the lines
 *   server COMMAND    runs from before the first sample until after the last
 *   ready ADDRESS     where the server takes connections: the path of a Unix socket,
 *                     or 127.0.0.1:PORT
 *   probe COMMAND     is run again and again until it ends with status 0: the server
 *                     serves, which takes connections before
 *   load COMMAND      runs once when the server is ready; in the order of the lines
 *   client COMMAND    what one sample runs; it must end with status 0
 *   says TEXT         part of what the client prints if it did its work; without this
 *                     line, its status alone counts
 *   never TEXT        part of what it prints if it did not
 *   operations N      how many operations that is
 *
 * In a TEXT, * stands for anything. All programs read /commands/NAME.stdin. What they
 * write to /tmp is gone when the next workload starts.
 *
 * Usage: real NAME SAMPLES WARMUP
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <net/if.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "one_cpu.h"
#include "sample.h"
#include "programs.h"

#define SETUP_LOG  "/tmp/setup"
#define SERVER_LOG "/tmp/server"
#define CLIENT_LOG "/tmp/client"

enum { MAX_WORDS = 64, MAX_COMMANDS = 8, MAX_OUTPUT = 65536, MAX_TEXT = 1024, WAIT_SECONDS = 60 };

struct command {
	char *words[MAX_WORDS + 1];
};

struct commands {
	struct command each[MAX_COMMANDS];
	int count;
};

static struct spec {
	struct commands setup, load;
	struct command server, probe, client;
	char *ready, *says, *never;
	unsigned int operations, user;
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

/* What a program printed; the end of it if that is long. */
static char *output_in(const char *log)
{
	static char output[MAX_OUTPUT];
	FILE *file = fopen(log, "re");
	size_t size = 0;

	if (file) {
		fseek(file, 0, SEEK_END);
		if (ftell(file) < MAX_OUTPUT)
			rewind(file);
		else
			fseek(file, 1 - MAX_OUTPUT, SEEK_END);
		size = fread(output, 1, MAX_OUTPUT - 1, file);
		fclose(file);
	}
	output[size] = '\0';
	return output;
}

/* The end of what a program printed, as one line. */
static const char *last_words(const char *log)
{
	char *text = output_in(log);
	size_t size = strlen(text);

	if (size >= MAX_TEXT)
		text += size - MAX_TEXT + 1;
	for (char *at = text; (at = strpbrk(at, "\r\n"));)
		*at = ' ';
	return text;
}

/* Whether a text has all parts of a pattern, in their order. */
static bool has(const char *text, const char *pattern)
{
	char *parts = strdup(pattern), *rest = parts, *part;

	if (!parts)
		fail("memory");
	while (text && (part = strsep(&rest, "*"))) {
		text = strstr(text, part);
		if (text)
			text += strlen(part);
	}
	free(parts);
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

static void add(char *line, struct commands *commands)
{
	if (commands->count == MAX_COMMANDS) {
		errno = E2BIG;
		fail(line);
	}
	split(line, &commands->each[commands->count++]);
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
	if (!strcmp(key, "setup"))
		add(value, &spec.setup);
	else if (!strcmp(key, "load"))
		add(value, &spec.load);
	else if (!strcmp(key, "server"))
		split(value, &spec.server);
	else if (!strcmp(key, "probe"))
		split(value, &spec.probe);
	else if (!strcmp(key, "client"))
		split(value, &spec.client);
	else if (!strcmp(key, "ready"))
		spec.ready = value;
	else if (!strcmp(key, "says"))
		spec.says = value;
	else if (!strcmp(key, "never"))
		spec.never = value;
	else if (!strcmp(key, "operations"))
		spec.operations = (unsigned int)strtoul(value, NULL, 10);
	else if (!strcmp(key, "user"))
		spec.user = (unsigned int)strtoul(value, NULL, 10);
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
	if (!spec.client.words[0] || !spec.operations) {
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

static bool succeeds(const struct command *command, const char *log)
{
	pid_t program = start(command, log);
	int status;

	if (waitpid(program, &status, 0) != program)
		fail("waitpid");
	return !status;
}

static void run(const struct command *command, const char *log)
{
	if (!succeeds(command, log))
		blame(command, "failed", log);
}

static void run_all(const struct commands *commands)
{
	for (int i = 0; i < commands->count; i++)
		run(&commands->each[i], SETUP_LOG);
}

static bool is_path(const char *address)
{
	return address[0] == '/';
}

static int open_socket(int family)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		fail("socket");
	return fd;
}

/* The kernel gives it the address 127.0.0.1 by itself. */
static void raise_loopback(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd = open_socket(AF_INET);

	if (ioctl(fd, SIOCSIFFLAGS, &lo))
		fail("lo");
	close(fd);
}

static bool connects(int family, const void *address, socklen_t size)
{
	int fd = open_socket(family);
	bool connected = !connect(fd, address, size);

	close(fd);
	return connected;
}

static bool answers(void)
{
	struct sockaddr_un local = { .sun_family = AF_UNIX };
	struct sockaddr_in remote = { .sin_family = AF_INET };
	unsigned int port;

	if (is_path(spec.ready)) {
		strncpy(local.sun_path, spec.ready, sizeof(local.sun_path) - 1);
		return connects(AF_UNIX, &local, sizeof(local));
	}
	if (sscanf(spec.ready, "127.0.0.1:%u", &port) != 1)
		unknown(spec.ready);
	remote.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	remote.sin_port = htons((uint16_t)port);
	return connects(AF_INET, &remote, sizeof(remote));
}

static bool serves(void)
{
	return answers() && (!spec.probe.words[0] || succeeds(&spec.probe, SETUP_LOG));
}

static void start_server(void)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	int status;

	server = start(&spec.server, SERVER_LOG);
	for (int tries = 0; !serves(); tries++) {
		if (waitpid(server, &status, WNOHANG) == server) {
			server = 0;
			blame(&spec.server, "ended at once", SERVER_LOG);
		}
		if (tries == WAIT_SECONDS * 100)
			blame(&spec.server, "does not serve", SERVER_LOG);
		nanosleep(&pause, NULL);
	}
}

static void check_output(void)
{
	const char *output = output_in(CLIENT_LOG);

	if ((spec.says && !has(output, spec.says)) || (spec.never && has(output, spec.never)))
		blame(&spec.client, "did not do its work", CLIENT_LOG);
}

static void time_clients(struct samples *s, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t begin = clock_begin(), value;

		run(&spec.client, CLIENT_LOG);
		value = clock_end() - begin;
		samples_put(s, value, false);
		check_output();
	}
}

/* Nothing of another workload is left: its files, their owner, the memory they take. */
static void empty_tmp(void)
{
	umount2("/tmp", MNT_DETACH);
	if (mount("tmpfs", "/tmp", "tmpfs", 0, "mode=1777"))
		fail("/tmp");
}

static void become_user(void)
{
	if (setgid(spec.user) || setuid(spec.user))
		fail("user");
}

static void prepare(void)
{
	prepare_programs();
	empty_tmp();
	if (spec.ready && !is_path(spec.ready))
		raise_loopback();
	share_a_cpu();
	if (spec.user)
		become_user();
	run_all(&spec.setup);
	if (spec.server.words[0])
		start_server();
	run_all(&spec.load);
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
	prepare();
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
