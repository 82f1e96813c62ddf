/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_file.c - file names for the object, which opens them in another process and possibly in
 * another folder.
 *
 * 1. Make the name absolute. Keep %p, %r and %h: each process substitutes its own
 *    (<mam/filename.h>). Double each % in parts that the user did not write, such as the current
 *    folder.
 * 2. Try to write to the name that the program itself will use: mam run becomes the program, so the
 *    process id is the same. An error is reported now, not after the program has run for hours.
 */
#define _GNU_SOURCE /* realpath */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mam/filename.h>

#include "kit/message.h"
#include "run/run_env.h"

struct name {
	char text[PATH_MAX];
	size_t length;
	bool too_long;
};

static void append(struct name *name, const char *text, size_t length)
{
	if (length >= sizeof(name->text) - name->length) {
		name->too_long = true;
		return;
	}
	memcpy(name->text + name->length, text, length);
	name->length += length;
	name->text[name->length] = '\0';
}

static void append_escaped(struct name *name, const char *text)
{
	for (; *text != '\0'; text++)
		append(name, *text == '%' ? "%%" : text, *text == '%' ? 2 : 1);
}

static size_t folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

/* The folder with links resolved, if possible; the rest unchanged. */
static bool make_absolute(const char *file, struct name *pattern)
{
	const size_t length = folder_length(file);
	char folder[PATH_MAX], whole[PATH_MAX];

	if (length >= sizeof(folder))
		return false;
	memcpy(folder, file, length);
	folder[length] = '\0';
	if (strchr(folder, '%') != NULL) {
		if (file[0] != '/' && getcwd(whole, sizeof(whole)) == NULL)
			return false;
		append_escaped(pattern, file[0] != '/' ? whole : "");
		append(pattern, "/", file[0] != '/');
		append(pattern, folder, length);
	} else {
		if (realpath(length == 0 ? "." : folder, whole) == NULL)
			return false;
		append_escaped(pattern, whole);
		append(pattern, "/", strcmp(whole, "/") != 0);
	}
	append(pattern, file + length, strlen(file + length));
	errno = ENAMETOOLONG;
	return !pattern->too_long;
}

static bool is_below(const char *path, const char *folder)
{
	return strncmp(path, folder, strlen(folder)) == 0;
}

/* NULL, or the reason why `path` is not writable. */
static const char *trouble_with(const char *path)
{
	char folder[PATH_MAX];
	struct stat status;

	snprintf(folder, sizeof(folder), "%.*s", (int)folder_length(path), path);
	if (lstat(path, &status) != 0)
		return errno != ENOENT || access(folder, W_OK | X_OK) != 0 ? strerror(errno) : NULL;
	if (S_ISDIR(status.st_mode))
		return "it is a folder";
	if (S_ISLNK(status.st_mode) && !is_below(path, "/dev/") && !is_below(path, "/proc/"))
		return "it is a symbolic link, which mam does not follow";
	if (access(path, W_OK) != 0)
		return strerror(errno);
	return S_ISREG(status.st_mode) && access(folder, W_OK | X_OK) != 0 ? strerror(errno) : NULL;
}

/* A trace that is being written is locked; the object would refuse it later. */
static bool is_being_written(const char *path)
{
	int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	bool is_locked;

	if (file < 0)
		return false;
	is_locked = fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
		    flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	close(file);
	return is_locked;
}

bool run_env_file(const char *option, const char *variable, const char *file)
{
	struct name pattern = { .length = 0 };
	char name[PATH_MAX];
	const char *trouble;

	if (file == NULL)
		return true;
	if (*file == '\0')
		trouble = "the name is empty";
	else if (file[strlen(file) - 1] == '/')
		trouble = "it is the name of a folder";
	else if (!make_absolute(file, &pattern))
		trouble = strerror(errno);
	else if (mam_filename_expand(pattern.text, sizeof(name), name) < 0)
		trouble = strerror(ENAMETOOLONG);
	else
		trouble = trouble_with(name);
	if (trouble == NULL && (strcmp(option, "trace") == 0 || strcmp(option, "profile") == 0) &&
	    is_being_written(name))
		trouble = "another process is writing it; wait for it, or add %p, the process ID, "
			  "to the name";
	if (trouble != NULL) {
		message_error("--%s: cannot write to '%.300s': %s", option, file, trouble);
		return false;
	}
	return setenv(variable, pattern.text, 1) == 0;
}
