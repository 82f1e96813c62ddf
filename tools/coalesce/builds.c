/* SPDX-License-Identifier: Apache-2.0 */
/*
 * builds.c - reads compile_commands.json, as CMake, Bear and Ninja write it: an array of objects
 * with "directory", "file", and either "arguments", an array, or "command", as for a shell.
 *
 * Files that nvcc's --options-file names are read, too. Other members are skipped. Of an escaped
 * character above 0x7f only its place is kept: "?". Bound: linear in the files, each of which has at
 * most MAX_BYTES; values are nested at most MAX_DEPTH deep.
 */
#include "builds.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/message.h"

#define MAX_BYTES ((size_t)256 << 20)
#define MAX_DEPTH 64u

struct reader {
	const char *at, *end;
	bool failed; /* memory ran out */
};

/* ---- JSON ------------------------------------------------------------------------------------ */

static void skip_blank(struct reader *r)
{
	while (r->at < r->end && strchr(" \t\r\n", *r->at) != NULL && *r->at != '\0')
		r->at++;
}

static bool next_is(struct reader *r, char c)
{
	skip_blank(r);
	if (r->at == r->end || *r->at != c)
		return false;
	r->at++;
	return true;
}

static char escaped(struct reader *r)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	char c = *r->at++;
	const char *found = c != '\0' ? strchr(from, c) : NULL;
	char digits[5] = "";

	if (found != NULL)
		return to[found - from];
	if (c != 'u')
		return c;
	if (r->end - r->at < 4)
		return '?';
	memcpy(digits, r->at, 4);
	r->at += 4;
	return strtoul(digits, NULL, 16) - 1 < 0x7f ? (char)strtoul(digits, NULL, 16) : '?';
}

/* A build has many words: each keeps the memory that it needs. */
static char *fitted(char *word, size_t bytes)
{
	char *smaller = realloc(word, bytes + 1);

	return smaller != NULL ? smaller : word;
}

/* A string; NULL: there is none, or memory ran out. */
static char *text(struct reader *r)
{
	char *made, *to;

	if (!next_is(r, '"'))
		return NULL;
	made = to =
		malloc((size_t)(r->end - r->at) + 1 < 65536 ? (size_t)(r->end - r->at) + 1 : 65536);
	if (made == NULL) {
		r->failed = true;
		return NULL;
	}
	while (r->at < r->end && *r->at != '"' && to - made < 65535) {
		char c = *r->at++;

		*to++ = c == '\\' && r->at < r->end ? escaped(r) : c;
	}
	*to = '\0';
	if (r->at == r->end || *r->at != '"' || strlen(made) != (size_t)(to - made)) {
		free(made);
		return NULL;
	}
	r->at++;
	return fitted(made, (size_t)(to - made));
}

static bool skip(struct reader *r, unsigned int depth)
{
	char open, *string;

	skip_blank(r);
	if (r->at == r->end || depth > MAX_DEPTH)
		return false;
	open = *r->at;
	if (open == '"') {
		string = text(r);
		free(string);
		return string != NULL;
	}
	if (open != '{' && open != '[') {
		size_t length = strspn(r->at, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");

		r->at += length;
		return length > 0;
	}
	r->at++;
	if (next_is(r, open == '{' ? '}' : ']'))
		return true;
	do {
		if (open == '{' && (!skip(r, depth + 1) || !next_is(r, ':')))
			return false;
		if (!skip(r, depth + 1))
			return false;
	} while (next_is(r, ','));
	return next_is(r, open == '{' ? '}' : ']');
}

/* ---- words ----------------------------------------------------------------------------------- */

struct words {
	char **words;
	size_t count, room;
};

static bool add_word(struct words *words, char *word)
{
	if (words->count == words->room) {
		size_t room = words->room ? 2 * words->room : 16;
		char **grown = realloc(words->words, room * sizeof(*grown));

		if (grown == NULL) {
			free(word);
			return false;
		}
		words->words = grown;
		words->room = room;
	}
	words->words[words->count++] = word;
	return word != NULL;
}

/* As a shell splits it, without expansions. */
static bool split(const char *command, struct words *words)
{
	while (*command != '\0') {
		char *word, *to, quote = '\0';

		command += strspn(command, " \t\n");
		if (*command == '\0')
			break;
		word = to = malloc(strlen(command) + 1);
		if (word == NULL)
			return false;
		for (; *command != '\0' && (quote || strchr(" \t\n", *command) == NULL);
		     command++) {
			if (quote ? *command == quote : *command == '"' || *command == '\'')
				quote = quote ? '\0' : *command;
			else if (*command == '\\' && quote != '\'' && command[1] != '\0')
				*to++ = *++command;
			else
				*to++ = *command;
		}
		*to = '\0';
		if (!add_word(words, fitted(word, (size_t)(to - word))))
			return false;
	}
	return true;
}

static bool read_words(struct reader *r, struct words *words)
{
	if (!next_is(r, '['))
		return false;
	if (next_is(r, ']'))
		return true;
	do {
		char *word = text(r);

		if (word == NULL || !add_word(words, word))
			return false;
	} while (next_is(r, ','));
	return next_is(r, ']');
}

static void free_words(struct words *words)
{
	size_t i;

	for (i = 0; i < words->count; i++)
		free(words->words[i]);
	free(words->words);
}

/* ---- entries --------------------------------------------------------------------------------- */

/* The contents of a file, followed by 0. NULL: failed, see errno. */
static char *load(const char *path, size_t *bytes);

static char *joined(const char *folder, const char *file)
{
	char *path, real[PATH_MAX];

	if (file[0] == '/' || folder == NULL) {
		path = strdup(file);
	} else {
		path = malloc(strlen(folder) + strlen(file) + 2);
		if (path != NULL)
			sprintf(path, "%s/%s", folder, file);
	}
	if (path != NULL && realpath(path, real) != NULL) {
		free(path);
		path = strdup(real);
	}
	return path;
}

static bool is_input(const char *word, const struct co_build *build)
{
	char *path;
	bool is;

	if (word[0] == '-')
		return false;
	path = joined(build->folder, word);
	is = path != NULL && strcmp(path, build->file) == 0;
	free(path);
	return is;
}

/* The name after nvcc's option for a file of flags, in this word or the next one; NULL: another word. */
static const char *options_file(const char *word, const char *next, size_t *used)
{
	static const char *const names[] = { "--options-file", "-optf", NULL };
	size_t i;

	for (i = 0; names[i] != NULL; i++) {
		const size_t length = strlen(names[i]);

		if (strncmp(word, names[i], length) != 0)
			continue;
		*used = word[length] == '=' ? 1 : 2;
		if (*used == 1)
			return word + length + 1;
		return word[length] == '\0' ? next : NULL;
	}
	return NULL;
}

/* CMake writes the include folders of CUDA files to such a file. One that cannot be read is reported. */
static bool expand(const char *folder, struct words *words)
{
	struct words all = { NULL, 0, 0 }, old;
	bool good = true;
	size_t i, used, bytes;

	for (i = 0; i < words->count && good; i += used) {
		const char *next = i + 1 < words->count ? words->words[i + 1] : NULL;
		const char *name = options_file(words->words[i], next, &used);
		char *path, *flags;

		if (name == NULL) {
			used = 1;
			good = add_word(&all, words->words[i]);
			words->words[i] = NULL;
			continue;
		}
		path = joined(folder, name);
		flags = path != NULL ? load(path, &bytes) : NULL;
		if (path != NULL && flags == NULL)
			message_warning("cannot read '%s', which has flags of the build: %s", path,
					strerror(errno));
		good = path != NULL && (flags == NULL || split(flags, &all));
		free(flags);
		free(path);
	}
	old = *words;
	*words = all;
	free_words(&old);
	return good;
}

/* The compiler's flags: not its name, nor the file. */
static bool keep_flags(struct co_build *build, struct words *words)
{
	size_t i;

	build->flags = calloc(words->count + 1, sizeof(*build->flags));
	if (build->flags == NULL)
		return false;
	for (i = 1; i < words->count; i++)
		if (!is_input(words->words[i], build)) {
			build->flags[build->flag_count++] = words->words[i];
			words->words[i] = NULL;
		}
	return true;
}

static void free_build(struct co_build *build)
{
	size_t i;

	for (i = 0; i < build->flag_count; i++)
		free((char *)build->flags[i]);
	free(build->flags);
	free(build->file);
	free(build->folder);
}

/* One member of an object. */
static bool read_member(struct reader *r, const char *name, struct co_build *build, char **file,
			struct words *words)
{
	char **to = strcmp(name, "directory") == 0 ? &build->folder
		    : strcmp(name, "file") == 0    ? file
						   : NULL;
	char *command;
	bool good;

	if (to != NULL) {
		free(*to);
		*to = text(r);
		return *to != NULL;
	}
	if (strcmp(name, "arguments") == 0 && words->count == 0)
		return read_words(r, words);
	if (strcmp(name, "command") != 0 || words->count > 0)
		return skip(r, 0);
	command = text(r);
	good = command != NULL && split(command, words);
	free(command);
	return good;
}

static bool read_entry(struct reader *r, struct co_build *build)
{
	struct words words = { NULL, 0, 0 };
	char *file = NULL, *name;
	bool good = next_is(r, '{');

	while (good && !next_is(r, '}')) {
		name = text(r);
		good = name != NULL && next_is(r, ':') &&
		       read_member(r, name, build, &file, &words);
		free(name);
		if (good && !next_is(r, ',')) {
			good = next_is(r, '}');
			break;
		}
	}
	good = good && file != NULL && build->folder != NULL;
	if (good)
		build->file = joined(build->folder, file);
	good = good && build->file != NULL && expand(build->folder, &words) &&
	       keep_flags(build, &words);
	free_words(&words);
	free(file);
	return good;
}

static bool read_all(struct reader *r, struct co_builds *builds)
{
	size_t room = 0;

	if (!next_is(r, '['))
		return false;
	if (next_is(r, ']'))
		return true;
	do {
		if (builds->count == room) {
			struct co_build *grown;

			room = room ? 2 * room : 64;
			grown = realloc(builds->builds, room * sizeof(*grown));
			if (grown == NULL)
				return false;
			builds->builds = grown;
		}
		memset(&builds->builds[builds->count], 0, sizeof(*builds->builds));
		builds->count++;
		if (!read_entry(r, &builds->builds[builds->count - 1]))
			return false;
	} while (next_is(r, ','));
	return next_is(r, ']');
}

/* ---- the file -------------------------------------------------------------------------------- */

static char *load(const char *path, size_t *bytes)
{
	FILE *file = fopen(path, "rb");
	size_t room = 1 << 16, got = 1;
	int error = file != NULL ? 0 : errno;
	char *all = NULL, *grown;

	*bytes = 0;
	while (error == 0 && got > 0) {
		grown = realloc(all, room + 1);
		if (grown == NULL) {
			error = ENOMEM;
			break;
		}
		all = grown;
		got = fread(all + *bytes, 1, room - *bytes, file);
		*bytes += got;
		all[*bytes] = '\0';
		if (ferror(file))
			error = errno;
		else if (*bytes > MAX_BYTES)
			error = EFBIG;
		room = *bytes == room ? 2 * room : room;
	}
	if (file != NULL)
		fclose(file);
	if (error != 0) {
		free(all);
		all = NULL;
	}
	errno = error;
	return all;
}

bool co_builds_read(const char *folder, struct co_builds *builds)
{
	char path[PATH_MAX], *all;
	struct reader r;
	size_t bytes;
	bool good;

	memset(builds, 0, sizeof(*builds));
	if (snprintf(path, sizeof(path), "%s/compile_commands.json", folder) >= (int)sizeof(path)) {
		message_error("'%s' is too long", folder);
		return false;
	}
	all = load(path, &bytes);
	if (all == NULL) {
		message_error("cannot read '%s': %s", path, strerror(errno));
		return false;
	}
	r = (struct reader){ all, all + bytes, false };
	good = read_all(&r, builds);
	skip_blank(&r);
	if (!good || r.at != r.end) {
		size_t line = 1;
		const char *at;

		for (at = all; at < r.at; at++)
			line += *at == '\n';
		message_error("'%s' is not a list of compile commands: see line %zu", path, line);
		good = false;
	}
	free(all);
	return good;
}

const struct co_build *co_builds_find(const struct co_builds *builds, const char *path)
{
	char real[PATH_MAX];
	size_t i;

	if (realpath(path, real) == NULL)
		return NULL;
	for (i = 0; i < builds->count; i++)
		if (strcmp(builds->builds[i].file, real) == 0)
			return &builds->builds[i];
	return NULL;
}

bool co_build_is_cuda(const struct co_build *build)
{
	size_t length = strlen(build->file), i;

	for (i = 0; i < build->flag_count; i++)
		if (strcmp(build->flags[i], "-xcuda") == 0 ||
		    strcmp(build->flags[i], "-xcu") == 0 ||
		    (strcmp(build->flags[i], "-x") == 0 && i + 1 < build->flag_count &&
		     strncmp(build->flags[i + 1], "cu", 2) == 0))
			return true;
	return length > 3 && strcmp(build->file + length - 3, ".cu") == 0;
}

void co_builds_free(struct co_builds *builds)
{
	size_t i;

	for (i = 0; i < builds->count; i++)
		free_build(&builds->builds[i]);
	free(builds->builds);
}
