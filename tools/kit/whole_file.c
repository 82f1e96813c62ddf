/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whole_file.c - a file that appears whole or not at all.
 *
 * 1. Follow links: a rename would put a plain file in the place of the link.
 * 2. Refuse what is there and no plain file: the same would happen to a device or a pipe.
 * 3. Write PATH.XXXXXX, with the rights that a new file of the user's has.
 * 4. Rename it to PATH. Only now is anything different for others.
 */
#include "kit/whole_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kit/message.h"

static void give_names(struct whole_file *whole)
{
	free(whole->path);
	free(whole->beside);
	*whole = (struct whole_file){ 0 };
}

static void say_not_written(const char *path)
{
	message_error("%s: cannot be written: %s", path,
		      errno ? strerror(errno) : "the system did not say why");
}

static bool make_names(struct whole_file *whole, const char *path, bool is_there)
{
	size_t bytes;

	if (*path == '\0') {
		errno = ENOENT;
		return false;
	}
	whole->path = is_there ? realpath(path, NULL) : strdup(path);
	if (!whole->path)
		return false;
	bytes = strlen(whole->path) + sizeof(".XXXXXX");
	whole->beside = malloc(bytes);
	if (whole->beside)
		snprintf(whole->beside, bytes, "%s.XXXXXX", whole->path);
	return whole->beside != NULL;
}

static FILE *open_beside(char *name)
{
	mode_t mask = umask(0);
	int descriptor;
	FILE *file;

	umask(mask);
	descriptor = mkstemp(name);
	if (descriptor < 0)
		return NULL;
	fchmod(descriptor, 0666 & ~mask);
	file = fdopen(descriptor, "w");
	if (!file) {
		close(descriptor);
		unlink(name);
	}
	return file;
}

FILE *whole_file_open(struct whole_file *whole, const char *path, const char *what)
{
	struct stat status;
	bool is_there = stat(path, &status) == 0;

	*whole = (struct whole_file){ .told = path };
	if (is_there && !S_ISREG(status.st_mode)) {
		message_error("%s: is no plain file, and %s is not written into it", path, what);
		return NULL;
	}
	errno = 0;
	if (make_names(whole, path, is_there))
		whole->file = open_beside(whole->beside);
	if (!whole->file) {
		say_not_written(path);
		give_names(whole);
	}
	return whole->file;
}

bool whole_file_close(struct whole_file *whole, bool good)
{
	FILE *file = whole->file;

	if (!file)
		return false;
	good = good && !ferror(file) && fflush(file) == 0;
	if (good) {
		errno = 0;
		good = fclose(file) == 0;
	} else {
		int error = errno;

		fclose(file);
		errno = error;
	}
	good = good && rename(whole->beside, whole->path) == 0;
	if (!good) {
		say_not_written(whole->told);
		unlink(whole->beside);
	}
	give_names(whole);
	return good;
}
