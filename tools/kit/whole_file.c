/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whole_file.c - a file that is written atomically: it appears complete or not at all.
 *
 * 1. Follow symbolic links: a rename would replace the link with a regular file.
 * 2. Refuse a path that exists and is not a regular file: the rename would replace a device or a
 *    pipe too.
 * 3. Write an unnamed file (<mam/newfile.h>) with the permissions of any new file of the user.
 *    Where it needs a name, a signal handler removes it if a signal ends the command.
 * 4. Give it its final name. Only now do other processes see a change.
 */
#include "kit/whole_file.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kit/message.h"

static const int ending[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGXCPU, SIGXFSZ };

#define ENDINGS (sizeof(ending) / sizeof(ending[0]))

static struct sigaction before[ENDINGS];
static const char *volatile removed; /* by the handler; NULL: the handler is not installed */

/* The signal's original action is restored and runs when the handler returns. */
static void remove_named(int signal)
{
	unlink(removed);
	for (size_t i = 0; i < ENDINGS; i++)
		sigaction(ending[i], &before[i], NULL);
	raise(signal);
}

static void guard(const char *name)
{
	struct sigaction action = { .sa_handler = remove_named };

	if (removed)
		return; /* one file at a time */
	removed = name;
	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < ENDINGS; i++)
		if (sigaction(ending[i], NULL, &before[i]) == 0 && before[i].sa_handler == SIG_DFL)
			sigaction(ending[i], &action, NULL);
}

static void unguard(const char *name)
{
	if (removed != name)
		return;
	for (size_t i = 0; i < ENDINGS; i++)
		sigaction(ending[i], &before[i], NULL);
	removed = NULL;
}

static void drop(struct whole_file *whole)
{
	if (whole->new.number >= 0)
		close(whole->new.number);
	mam_newfile_drop(&whole->new);
	unguard(whole->new.beside);
	free(whole->path);
	whole->path = NULL;
	whole->file = NULL;
	whole->new.number = -1;
}

static void say_not_written(const char *path)
{
	message_error("cannot write '%s': %s", path, errno ? strerror(errno) : "unknown error");
}

/* The descriptor is still needed after the stream is closed, to name the file. */
static FILE *open_new(struct whole_file *whole)
{
	int error = mam_newfile_open(&whole->new, whole->path, 0666), copy;
	FILE *file;

	errno = error;
	if (error)
		return NULL;
	if (!whole->new.is_unnamed)
		guard(whole->new.beside);
	copy = dup(whole->new.number);
	file = copy < 0 ? NULL : fdopen(copy, "w");
	if (!file && copy >= 0)
		close(copy);
	return file;
}

FILE *whole_file_open(struct whole_file *whole, const char *path, const char *what)
{
	struct stat status;
	bool is_there = stat(path, &status) == 0;

	*whole = (struct whole_file){ .told = path, .new.number = -1 };
	if (is_there && !S_ISREG(status.st_mode)) {
		message_error("cannot write %s to '%s': not a regular file", what, path);
		return NULL;
	}
	errno = *path ? 0 : ENOENT;
	if (*path)
		whole->path = is_there ? realpath(path, NULL) : strdup(path);
	if (whole->path)
		whole->file = open_new(whole);
	if (!whole->file) {
		say_not_written(path);
		drop(whole);
	}
	return whole->file;
}

bool whole_file_close(struct whole_file *whole, bool good)
{
	FILE *file = whole->file;
	int error;

	if (!file)
		return false;
	good = good && !ferror(file) && fflush(file) == 0;
	error = good ? 0 : errno;
	if (fclose(file) != 0 && good) {
		error = errno;
		good = false;
	}
	if (good) {
		error = mam_newfile_put(&whole->new, whole->path);
		good = error == 0;
	}
	errno = error;
	if (!good)
		say_not_written(whole->told);
	drop(whole);
	return good;
}
