/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols.c - find symbols in a separate process, the reader.
 *
 * 1. The first symbols_find() forks the reader. It keeps the tables of all files (symbols_module.h)
 *    until it ends.
 * 2. A request and its reply are one packet each. The reply is not trusted, because a damaged
 *    file may have corrupted the memory of the reader.
 * 3. If the reader ends or does not reply in time, a new one reads the symbol table of that file,
 *    without its debug information. If that fails, too, the file has no symbols.
 *
 * Cost: two context switches per call. Functions and files are interned (kit/names.h).
 */
#include "symbols/symbols.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include "kit/message.h"
#include "kit/names.h"
#include "symbols/symbols_module.h"

#ifndef REPLY_MS_MAX        /* a test has no two minutes */
#define REPLY_MS_MAX 120000 /* reading gigabytes of debug information takes a minute */
#endif
#define REPLY_BYTES_MAX 65536
#define TEXT_BYTES_MAX 16384 /* longer names of functions and files are truncated */
#define FRAMES_MAX 256

struct request {
	uint32_t module;
	uint32_t max;
	uint64_t offset;
	bool dwarf;
	bool has_id;
	char texts[PATH_MAX + 256]; /* the path and the build ID, each ends with a zero */
};

/* Followed by the frames: a line number, the function and the file, each ends with a zero. */
struct reply {
	uint32_t changed; /* the file has another build ID */
	uint32_t count;
	char frames[REPLY_BYTES_MAX];
};

struct file {
	bool no_dwarf; /* its debug information crashed a reader */
	bool given_up;
	bool warned;
};

struct symbols {
	struct names keys; /* a path and a build ID, separated by a newline; the number of a file */
	struct file *files;
	uint32_t files_room;
	struct names texts;
	pid_t reader; /* 0: none */
	int socket;
	bool warned; /* no reader could be started */
	struct request request;
	struct reply reply;
};

/* ---- the reader ---- */

/* The files that it has opened, by their number. */
struct opened {
	struct symbols_module **list;
	uint32_t count;
};

static struct symbols_module *module_of(struct opened *opened, const struct request *request)
{
	const char *path = request->texts;
	struct symbols_module **entry;

	if (request->module >= opened->count) {
		uint32_t count = 2 * (request->module + 1);

		entry = realloc(opened->list, count * sizeof(*entry));
		if (entry == NULL)
			return NULL;
		memset(entry + opened->count, 0, (count - opened->count) * sizeof(*entry));
		opened->list = entry;
		opened->count = count;
	}
	entry = &opened->list[request->module];
	if (*entry == NULL)
		*entry = symbols_module_open(path, request->has_id ? path + strlen(path) + 1 : NULL,
					     request->dwarf);
	return *entry;
}

static bool put_text(struct reply *reply, size_t *used, const char *text)
{
	size_t bytes = strnlen(text, TEXT_BYTES_MAX);

	if (bytes >= sizeof(reply->frames) - *used)
		return false;
	memcpy(reply->frames + *used, text, bytes);
	reply->frames[*used + bytes] = '\0';
	*used += bytes + 1;
	return true;
}

static size_t put_frames(struct reply *reply, const struct symbol *found, size_t count)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		size_t end = used + sizeof(uint32_t);
		uint32_t line = found[i].line;

		if (end > sizeof(reply->frames) || !put_text(reply, &end, found[i].function) ||
		    !put_text(reply, &end, found[i].file))
			break;
		memcpy(reply->frames + used, &line, sizeof(line));
		used = end;
		reply->count++;
	}
	return used;
}

static void prepare_reader(void)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGABRT,
				       SIGBUS, SIGFPE, SIGILL,  SIGSEGV };
	const struct rlimit none = { 0, 0 };
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], SIG_DFL);
	/* A damaged file may use all memory: let the system end this process, not the other one. */
	if (score >= 0) {
		(void)!write(score, "1000", 4);
		close(score);
	}
	/* The other process reports a crash: no message of the C library, and no core file. */
	if (null >= 0)
		dup2(null, STDERR_FILENO);
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void read_files(int socket, struct request *request, struct reply *reply)
{
	struct opened opened = { NULL, 0 };
	struct symbol found[FRAMES_MAX];

	prepare_reader();
	while (recv(socket, request, sizeof(*request), 0) > 0) {
		struct symbols_module *module = module_of(&opened, request);
		size_t bytes = 0;

		reply->changed = module != NULL && symbols_module_changed(module);
		reply->count = 0;
		if (module != NULL)
			bytes = put_frames(
				reply, found,
				symbols_module_find(module, request->offset, found, request->max));
		bytes += offsetof(struct reply, frames);
		if (send(socket, reply, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
			break;
	}
	_exit(0);
}

/* ---- the process that sends requests ---- */

static bool start_reader(struct symbols *symbols)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return false;
	symbols->reader = fork();
	if (symbols->reader == 0) {
		close(pair[0]);
		read_files(pair[1], &symbols->request, &symbols->reply);
	}
	close(pair[1]);
	if (symbols->reader > 0) {
		symbols->socket = pair[0];
		return true;
	}
	symbols->reader = 0;
	close(pair[0]);
	return false;
}

static void stop_reader(struct symbols *symbols)
{
	if (symbols->reader == 0)
		return;
	close(symbols->socket);
	kill(symbols->reader, SIGKILL);
	while (waitpid(symbols->reader, NULL, 0) < 0 && errno == EINTR)
		;
	symbols->reader = 0;
}

struct symbols *symbols_create(void)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (symbols == NULL || !names_init(&symbols->keys)) {
		free(symbols);
		return NULL;
	}
	if (names_init(&symbols->texts))
		return symbols;
	names_fini(&symbols->keys);
	free(symbols);
	return NULL;
}

void symbols_destroy(struct symbols *symbols)
{
	if (symbols == NULL)
		return;
	stop_reader(symbols);
	names_fini(&symbols->keys);
	names_fini(&symbols->texts);
	free(symbols->files);
	free(symbols);
}

/* Write the request. False: the path is too long, or there is no memory. */
static bool prepare(struct symbols *symbols, const char *path, const char *build_id)
{
	struct request *request = &symbols->request;
	const size_t path_bytes = strlen(path), id_bytes = build_id ? strlen(build_id) : 0;
	uint32_t number;

	if (path_bytes + id_bytes + 2 > sizeof(request->texts))
		return false;
	memcpy(request->texts, path, path_bytes + 1);
	request->texts[path_bytes] = '\n';
	memcpy(request->texts + path_bytes + 1, build_id ? build_id : "", id_bytes + 1);
	if (!names_number(&symbols->keys, request->texts, path_bytes + 1 + id_bytes, &number))
		return false;
	request->texts[path_bytes] = '\0';
	request->module = number;
	request->has_id = build_id != NULL;
	if (number >= symbols->files_room) {
		uint32_t room = 2 * (number + 1);
		struct file *files = realloc(symbols->files, room * sizeof(*files));

		if (files == NULL)
			return false;
		memset(files + symbols->files_room, 0,
		       (room - symbols->files_room) * sizeof(*files));
		symbols->files = files;
		symbols->files_room = room;
	}
	return true;
}

/* Send the request and receive the reply. False: the reader is unusable. */
static bool exchange(struct symbols *symbols, size_t *bytes)
{
	struct pollfd wait = { .fd = symbols->socket, .events = POLLIN };
	ssize_t got;
	int ready;

	if (send(symbols->socket, &symbols->request, sizeof(symbols->request), MSG_NOSIGNAL) !=
	    (ssize_t)sizeof(symbols->request))
		return false;
	do
		ready = poll(&wait, 1, REPLY_MS_MAX);
	while (ready < 0 && errno == EINTR);
	if (ready <= 0)
		return false;
	got = recv(symbols->socket, &symbols->reply, sizeof(symbols->reply), 0);
	if (got < (ssize_t)offsetof(struct reply, frames))
		return false;
	*bytes = (size_t)got - offsetof(struct reply, frames);
	return true;
}

/* Send the request until a reader replies; report errors once per file. */
static bool get_reply(struct symbols *symbols, struct file *file, size_t *bytes)
{
	const char *path = symbols->request.texts;

	while (!file->given_up) {
		if (symbols->reader == 0 && !start_reader(symbols)) {
			if (!symbols->warned)
				message_warning("cannot start a process that reads symbols: %s",
						strerror(errno));
			symbols->warned = true;
			return false;
		}
		symbols->request.dwarf = !file->no_dwarf;
		if (exchange(symbols, bytes))
			return true;
		stop_reader(symbols);
		file->given_up = file->no_dwarf;
		if (!file->no_dwarf)
			message_warning(
				"debug information of '%s' is damaged; its lines are unknown",
				path);
		file->no_dwarf = true;
	}
	return false;
}

/* An interned text of the reply, or NULL. */
static const char *take_text(struct symbols *symbols, const char **at, const char *end)
{
	const char *zero = memchr(*at, '\0', (size_t)(end - *at));
	uint32_t number;

	if (zero == NULL || !names_number(&symbols->texts, *at, (size_t)(zero - *at), &number))
		return NULL;
	*at = zero + 1;
	return symbols->texts.texts[number];
}

static size_t take_frames(struct symbols *symbols, size_t bytes, struct symbol *found, size_t max)
{
	const char *at = symbols->reply.frames, *const end = at + bytes;
	size_t count = 0;

	while (count < symbols->reply.count && count < max &&
	       (size_t)(end - at) > sizeof(uint32_t)) {
		uint32_t line;

		memcpy(&line, at, sizeof(line));
		at += sizeof(line);
		found[count].line = line;
		found[count].function = take_text(symbols, &at, end);
		if (found[count].function == NULL)
			break;
		found[count].file = take_text(symbols, &at, end);
		if (found[count].file == NULL)
			break;
		count++;
	}
	return count;
}

size_t symbols_find(struct symbols *symbols, const char *path, const char *build_id,
		    uint64_t offset, struct symbol *found, size_t max)
{
	struct request *request = &symbols->request;
	struct file *file;
	size_t bytes;

	if (max == 0 || !prepare(symbols, path, build_id))
		return 0;
	request->offset = offset;
	request->max = (uint32_t)(max < FRAMES_MAX ? max : FRAMES_MAX);
	file = &symbols->files[request->module];
	if (!get_reply(symbols, file, &bytes))
		return 0;
	if (symbols->reply.changed && !file->warned) {
		message_warning("'%s' changed after the recording; its functions are unknown",
				path);
		file->warned = true;
	}
	return take_frames(symbols, bytes, found, max);
}
