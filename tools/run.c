/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - `mam run`: start a program with libmam-preload.so in front of its CUDA.
 *
 * 1. Find the object: beside this command in a build folder, else where it lies from here in an
 *    installed tree, however far that was moved, else where it was to be installed.
 * 2. Put it first in LD_PRELOAD; what was there stays behind it.
 * 3. Turn options into the MAM_ variables that the object reads (mam(7)).
 * 4. Become the program. Its exit status, signals and input are then its own, since nothing of
 *    mam stands in between.
 */
#define _GNU_SOURCE /* strchrnul */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mam/options.h>

#include "args.h"
#include "command.h"
#include "message.h"

#define OBJECT "libmam-preload.so"
#define AUDIT_OBJECT "libmam-audit.so"

/* As shells answer for a program that they cannot start. */
#define STATUS_NOT_EXECUTABLE 126
#define STATUS_NOT_FOUND 127

#define UNSET (UINT64_MAX - 1)

struct settings {
	const char *stats; /* "": on standard error; else a file; NULL: none */
	const char *free;
	const char *log;
	const char *capture, *ipc, *trace, *leaks, *children, *route, *nvtx;
	uint64_t chunk, growth, limit, pass_above; /* UNSET: leave the environment as it is */
	bool disable;
};

static const struct args_word largest[] = { { "largest", UINT64_MAX }, { NULL, 0 } };
static const struct args_word none[] = { { "none", UINT64_MAX }, { NULL, 0 } };

#define FIELD(name) offsetof(struct settings, name)

static const struct args_option options[] = {
	{ "stats", 0, ARGS_OPTIONAL, FIELD(stats), "FILE", NULL,
	  "at exit, say what was caught and how much memory it\n"
	  "took; in FILE as lines of key, tab, value" },
	{ "chunk", 0, ARGS_BYTES, FIELD(chunk), "SIZE", largest,
	  "take this much of the GPU at once for a context's first\n"
	  "request, or `largest' for all there is" },
	{ "growth", 0, ARGS_BYTES, FIELD(growth), "SIZE", none,
	  "then at least this much at a time (default 64M, doubling\n"
	  "with the pool up to 4G), or `none'" },
	{ "limit", 0, ARGS_BYTES, FIELD(limit), "SIZE", NULL,
	  "more than this is out of memory, on each device" },
	{ "pass-above", 0, ARGS_BYTES, FIELD(pass_above), "SIZE", NULL,
	  "leave larger requests to the driver (default: half of the\n"
	  "device's memory)" },
	{ "free", 0, ARGS_TEXT, FIELD(free), "POLICY", NULL,
	  "strict (default): cudaFree waits for the GPU, as it does\n"
	  "without mam; deferred: it does not, and the block is used\n"
	  "again when the GPU is done with it; stream: at once, the\n"
	  "program promises that its users are in one order" },
	{ "capture", 0, ARGS_TEXT, FIELD(capture), "HOW", NULL,
	  "strict (default): cudaMalloc in a stream capture answers as\n"
	  "without mam; allow: it is served" },
	{ "ipc", 0, ARGS_TEXT, FIELD(ipc), "HOW", NULL,
	  "share (default): handles of blocks work between processes\n"
	  "under mam; dedicated[:SIZE]: requests from SIZE (1M) up are\n"
	  "the driver's, for peers without mam" },
	{ "trace", 0, ARGS_TEXT, FIELD(trace), "FILE", NULL,
	  "record all allocations for mam replay" },
	{ "leaks", 0, ARGS_OPTIONAL, FIELD(leaks), "FILE", NULL,
	  "at exit, list the blocks that were never freed, and where\n"
	  "they were allocated" },
	{ "children", 0, ARGS_TEXT, FIELD(children), "YES|NO", NULL,
	  "whether processes that the program starts are served" },
	{ "route", 0, ARGS_TEXT, FIELD(route), "ROUTE", NULL,
	  "preload or audit: audit also catches plugins opened with\n"
	  "RTLD_DEEPBIND; auto (default) is preload" },
	{ "nvtx", 0, ARGS_TEXT, FIELD(nvtx), "AUTO|NO", NULL,
	  "make blocks known to compute-sanitizer" },
	{ "disable", 0, ARGS_FLAG, FIELD(disable), NULL, NULL,
	  "leave every call to the driver: is it mam or the program?" },
	{ "log", 0, ARGS_TEXT, FIELD(log), "LEVEL", NULL, "error, warn (default), info or debug" },
	{ NULL, 0, ARGS_FLAG, 0, NULL, NULL, NULL },
};

static const struct args_command command = {
	.name = "mam run",
	.use = "[OPTION]... [--] PROGRAM [ARGUMENT]...",
	.intro = "Run an unmodified CUDA program with cudaMalloc and cudaFree served from a pool.\n"
		 "It may be linked to the CUDA runtime in either way, use the driver API, or be\n"
		 "written in Python. The exit status is the program's; 127 says that it was not\n"
		 "found, 126 that it could not be started.\n",
	.outro = "Examples:\n"
		 "  mam run ./simulate input.dat\n"
		 "  mam run --stats python3 train.py\n"
		 "  mam run --limit 20G -- ./server --port 80\n\n"
		 "Not caught: set-user-id programs, programs linked without a shared C library,\n"
		 "plugins opened with RTLD_DEEPBIND. `mam run --stats' says how many calls were.\n",
	.options = options,
	.stops = true,
};

static bool is_file(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* Length of `path` up to the slash of its last part; 0: no slash. */
static size_t folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? 0 : (size_t)(slash - path);
}

/*
 * Where the object's folder lies as seen from the command's, as configure placed both:
 * "../lib/mam". The folders above the first difference are left out, so a tree that was moved
 * whole still fits.
 */
static void relative_place(char *place, size_t room)
{
	const char *from = MAM_BINDIR, *to = MAM_PRELOADDIR;
	size_t same = 0, length = 0;

	for (size_t i = 0; from[i] != '\0' && from[i] == to[i]; i++)
		if (from[i] == '/')
			same = i;
	if (from[same] == '/' && to[same] == '/') {
		from += same + 1;
		to += same + 1;
	}
	place[0] = '\0';
	for (const char *part = from; *part != '\0';
	     part = *strchrnul(part, '/') ? strchrnul(part, '/') + 1 : "")
		length +=
			(size_t)snprintf(place + length, length < room ? room - length : 0, "../");
	if (length < room)
		snprintf(place + length, room - length, "%s", to);
}

/* The object's path; false: it is nowhere. */
static bool find_object(const char *object, char *path, size_t room)
{
	char here[PATH_MAX], relative[PATH_MAX], place[3 * PATH_MAX];
	const char *const places[] = { ".libs", ".", relative };
	ssize_t length = readlink("/proc/self/exe", here, sizeof(here) - 1);

	relative_place(relative, sizeof(relative));
	if (length > 0) {
		here[length] = '\0';
		here[folder_length(here)] = '\0';
		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
			snprintf(place, sizeof(place), "%s/%s/%s", here, places[i], object);
			if (is_file(place) && realpath(place, path) != NULL)
				return true;
		}
	}
	snprintf(path, room, "%s/%s", MAM_PRELOADDIR, object);
	return is_file(path);
}

/* Put an object of mam's first in a variable of the dynamic linker's; what was there stays. */
static bool put_first(const char *variable, const char *object)
{
	const char *before = getenv(variable);
	char path[PATH_MAX];
	char *list;
	bool good;

	if (!find_object(object, path, sizeof(path))) {
		message_error(
			"%s was not found beside this command nor in %s: is mam installed whole?",
			object, MAM_PRELOADDIR);
		return false;
	}
	if (strpbrk(path, " \t\n:") != NULL) {
		message_error("'%s' has a space or a colon in its path, which %s cannot hold: "
			      "move mam to another folder",
			      path, variable);
		return false;
	}
	if (before == NULL || before[0] == '\0')
		return setenv(variable, path, 1) == 0;
	if (asprintf(&list, "%s:%s", path, before) < 0)
		return false;
	good = setenv(variable, list, 1) == 0;
	free(list);
	return good;
}

static bool preload(void)
{
	return put_first("LD_PRELOAD", OBJECT);
}

/* The audit object only leads to the preload object's functions, so both are there. */
static bool set_route(const char *word)
{
	if (word == NULL || strcmp(word, "auto") == 0 || strcmp(word, "preload") == 0)
		return true;
	if (strcmp(word, "audit") == 0)
		return put_first("LD_AUDIT", AUDIT_OBJECT);
	message_error("--route is '%s', but must be auto, preload or audit", word);
	return false;
}

/*
 * A number as the object reads it; the word for the largest one comes from the option's own list.
 */
static bool set_bytes(const char *variable, uint64_t bytes, const struct args_word *words)
{
	char text[32];

	if (bytes == UNSET)
		return true;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)bytes);
	return setenv(variable, words != NULL && bytes == words->value ? words->text : text, 1) ==
	       0;
}

/* One of the words that the variable's row allows. */
static bool set_choice(const char *option, const char *variable, const char *word)
{
	size_t count, length = word == NULL ? 0 : strlen(word);
	const struct mam_option_row *row = mam_options(&count);

	if (word == NULL)
		return true;
	while (strcmp(row->name, variable) != 0)
		row++;
	for (const char *at = row->values; *at != '\0';
	     at = *strchrnul(at, '|') ? strchrnul(at, '|') + 1 : "")
		if (length == (size_t)(strchrnul(at, '|') - at) && strncmp(at, word, length) == 0)
			return setenv(variable, word, 1) == 0;
	message_error("--%s is '%s', but must be one of %s", option, word, row->values);
	return false;
}

/*
 * The program may change its folder, so the file's name is made absolute, and a bad one is told
 * now.
 */
static bool set_file(const char *option, const char *variable, const char *file)
{
	size_t length = file == NULL ? 0 : folder_length(file);
	char folder[PATH_MAX], whole[PATH_MAX];
	struct stat status;
	const char *name;

	if (file == NULL)
		return true;
	name = length == 0 && file[0] != '/' ? file : file + length + 1;
	snprintf(folder, sizeof(folder), "%.*s", (int)length, file);
	if (length == 0)
		strcpy(folder, file[0] == '/' ? "/" : ".");
	if (realpath(folder, whole) == NULL || access(whole, W_OK | X_OK) != 0 ||
	    strlen(whole) + strlen(name) + 2 > sizeof(whole)) {
		message_error("--%s: '%s' cannot be written to: %s", option, file,
			      strerror(errno));
		return false;
	}
	strcat(strcat(whole, "/"), name);
	if (stat(whole, &status) == 0 && (S_ISDIR(status.st_mode) || access(whole, W_OK) != 0)) {
		message_error("--%s: '%s' cannot be written to: %s", option, file,
			      S_ISDIR(status.st_mode) ? "it is a folder" : strerror(errno));
		return false;
	}
	return setenv(variable, whole, 1) == 0;
}

static bool set_leaks(const char *file)
{
	if (file == NULL)
		return true;
	return setenv("MAM_LEAKS", "1", 1) == 0 &&
	       (file[0] == '\0' || set_file("leaks", "MAM_LEAKS_FILE", file));
}

static bool set_children(const char *word)
{
	if (word == NULL || strcmp(word, "yes") == 0 || strcmp(word, "no") == 0)
		return word == NULL || setenv("MAM_CHILDREN", word, 1) == 0;
	message_error("--children is '%s', but must be yes or no", word);
	return false;
}

/* "share", "dedicated" or "dedicated:SIZE". */
static bool set_ipc(const char *word)
{
	static const char dedicated[] = "dedicated";
	const size_t length = sizeof(dedicated) - 1;
	uint64_t bytes;

	if (word == NULL)
		return true;
	if (strcmp(word, "share") != 0 && strcmp(word, dedicated) != 0 &&
	    (strncmp(word, dedicated, length) != 0 || word[length] != ':' ||
	     !args_bytes(word + length + 1, &bytes))) {
		message_error("--ipc is '%s', but must be share, dedicated, or dedicated:SIZE",
			      word);
		return false;
	}
	return setenv("MAM_IPC", word, 1) == 0;
}

static bool set_stats(const char *file)
{
	char number[32];

	snprintf(number, sizeof(number), "%ld", (long)getpid());
	if (setenv("MAM_RUN_PID", number, 1) != 0)
		return false;
	if (file == NULL)
		return true;
	if (setenv("MAM_STATS", "1", 1) != 0)
		return false;
	return file[0] == '\0' || set_file("stats", "MAM_STATS_FILE", file);
}

static bool set_environment(const struct settings *settings)
{
	return set_bytes("MAM_CHUNK", settings->chunk, largest) &&
	       set_bytes("MAM_GROWTH", settings->growth, none) &&
	       set_bytes("MAM_LIMIT", settings->limit, NULL) &&
	       set_bytes("MAM_PASS_ABOVE", settings->pass_above, NULL) &&
	       set_choice("free", "MAM_FREE", settings->free) &&
	       set_choice("capture", "MAM_CAPTURE", settings->capture) &&
	       set_choice("nvtx", "MAM_NVTX", settings->nvtx) &&
	       set_children(settings->children) && set_ipc(settings->ipc) &&
	       set_file("trace", "MAM_TRACE", settings->trace) && set_leaks(settings->leaks) &&
	       set_choice("log", "MAM_LOG", settings->log) &&
	       (!settings->disable || setenv("MAM_DISABLE", "1", 1) == 0) &&
	       set_stats(settings->stats) && preload() && set_route(settings->route);
}

/* Returns only where the program could not be started. */
static int become(char **argv)
{
	int error;

	fflush(stdout);
	execvp(argv[0], argv);
	error = errno;
	if (error == ENOENT && strchr(argv[0], '/') == NULL) {
		message_error(
			"there is no program '%s' on the PATH; for one in this folder write ./%s",
			argv[0], argv[0]);
		return STATUS_NOT_FOUND;
	}
	if (error == ENOENT && access(argv[0], F_OK) != 0) {
		message_error("there is no program '%s'", argv[0]);
		return STATUS_NOT_FOUND;
	}
	if (error == ENOENT) {
		message_error(
			"'%s' cannot be started: the interpreter that it names does not exist",
			argv[0]);
		return STATUS_NOT_FOUND;
	}
	message_error("'%s' cannot be started: %s", argv[0], strerror(error));
	return STATUS_NOT_EXECUTABLE;
}

int run_main(int argc, char **argv)
{
	struct settings settings = {
		.chunk = UNSET, .growth = UNSET, .limit = UNSET, .pass_above = UNSET
	};
	int first, status;

	if (!args_parse(&command, argc, argv, &settings, &first, &status))
		return status;
	if (first == argc) {
		message_error("no program was named; see %s --help", command.name);
		return STATUS_BAD;
	}
	if (!set_environment(&settings))
		return STATUS_BAD;
	return become(argv + first);
}
