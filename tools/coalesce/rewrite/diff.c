/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.c - see diff.h.
 *
 * Both texts and the output of diff(1) are in temporary files, so that a failed diff prints nothing.
 * diff opens its input as /dev/fd/N. LC_ALL=C keeps its output the same in every locale.
 */
#include "coalesce/rewrite/diff.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kit/message.h"

#define DIFFERENT 1   /* diff's exit status; larger ones are errors */
#define NOT_FOUND 127 /* exit status of a child that cannot execute the program */

extern char **environ;

static bool is_odd(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f || c == '"' || c == '\\';
}

/*
 * A path as patch(1) reads it: a tab ends a path with a blank; a path with control characters,
 * quotes or backslashes is quoted as in C. NULL: no memory.
 */
static char *label_of(const char *path)
{
	char *label = malloc(4 * strlen(path) + 3), *to = label;
	bool quoted = false;

	if (!label)
		return NULL;
	for (const char *c = path; *c; c++)
		quoted = quoted || is_odd(*c);
	if (quoted)
		*to++ = '"';
	for (const char *c = path; *c; c++) {
		if (is_odd(*c))
			to += sprintf(to, "\\%03o", (unsigned int)(unsigned char)*c);
		else
			*to++ = *c;
	}
	if (quoted)
		*to++ = '"';
	else if (strchr(path, ' '))
		*to++ = '\t';
	*to = '\0';
	return label;
}

/* A temporary file with the text; NULL, with errno. */
static FILE *file_of(const char *text)
{
	FILE *file = tmpfile();

	/* The child inherits it. */
	if (file && fputs(text, file) >= 0 && fflush(file) == 0 &&
	    fcntl(fileno(file), F_SETFD, 0) == 0) {
		rewind(file);
		return file;
	}
	if (file)
		fclose(file);
	return NULL;
}

/* Returns true if diff wrote a diff to `output`; otherwise prints an error. */
static bool run(char *const *arguments, int output)
{
	posix_spawn_file_actions_t actions;
	int error, status = 0;
	pid_t child;

	error = posix_spawn_file_actions_init(&actions);
	if (error == 0) {
		error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
		if (error == 0)
			error = posix_spawnp(&child, arguments[0], &actions, NULL, arguments,
					     environ);
		posix_spawn_file_actions_destroy(&actions);
	}
	while (error == 0 && waitpid(child, &status, 0) < 0)
		error = errno == EINTR ? 0 : errno;
	if (error == 0 && WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND)
		error = ENOENT;
	if (error != 0)
		message_error("cannot run 'diff': %s", strerror(error));
	else if (WIFSIGNALED(status))
		message_error("cannot run 'diff': %s", strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) > DIFFERENT)
		message_error("cannot run 'diff': exit status %d", WEXITSTATUS(status));
	return error == 0 && WIFEXITED(status) && WEXITSTATUS(status) <= DIFFERENT;
}

static bool compare(FILE *before, FILE *after, FILE *output, char *label_before, char *label_after)
{
	char path_before[32], path_after[32];
	char *const arguments[] = { "diff",    "-d",        "-u",        "--label",  label_before,
				    "--label", label_after, path_before, path_after, NULL };

	snprintf(path_before, sizeof(path_before), "/dev/fd/%d", fileno(before));
	snprintf(path_after, sizeof(path_after), "/dev/fd/%d", fileno(after));
	/* If the caller ignored SIGCHLD, waitpid() would not get the status. */
	signal(SIGCHLD, SIG_DFL);
	setenv("LC_ALL", "C", 1);
	return run(arguments, fileno(output));
}

static bool copy(FILE *from, FILE *to)
{
	char bytes[4096];
	size_t count;

	rewind(from);
	while ((count = fread(bytes, 1, sizeof(bytes), from)) != 0)
		fwrite(bytes, 1, count, to);
	if (ferror(from))
		message_error("cannot read the output of 'diff': %s", strerror(errno));
	return !ferror(from);
}

bool co_diff_put(FILE *file, const char *path_before, const char *path_after, const char *before,
		 const char *after)
{
	char *labels[2] = { NULL, NULL };
	FILE *files[3] = { NULL, NULL, NULL };
	bool done = false;

	if (strcmp(before, after) == 0)
		return true;
	labels[0] = label_of(path_before);
	labels[1] = label_of(path_after);
	if (!labels[0] || !labels[1])
		message_error("out of memory");
	else if (!(files[0] = file_of(before)) || !(files[1] = file_of(after)) ||
		 !(files[2] = file_of("")))
		message_error("cannot write a temporary file: %s", strerror(errno));
	else
		done = compare(files[0], files[1], files[2], labels[0], labels[1]) &&
		       copy(files[2], file);
	for (int i = 0; i < 3; i++)
		if (files[i])
			fclose(files[i]);
	free(labels[0]);
	free(labels[1]);
	return done;
}
