/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_object.c - finds the objects of mam run: beside this command in a build folder, else where
 * they lie from here in an installed tree, however far that was moved, else where they were to be
 * installed.
 */
#define _GNU_SOURCE /* strchrnul, asprintf */
#include "run/run_object.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kit/message.h"

static bool is_file(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode);
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

bool run_object_find(const char *object, char *path, size_t room)
{
	char here[PATH_MAX], relative[PATH_MAX], place[3 * PATH_MAX];
	const char *const places[] = { ".libs", ".", relative };
	char *slash;
	ssize_t length = readlink("/proc/self/exe", here, sizeof(here) - 1);

	relative_place(relative, sizeof(relative));
	if (length > 0) {
		here[length] = '\0';
		slash = strrchr(here, '/');
		*(slash == NULL ? here : slash) = '\0';
		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
			snprintf(place, sizeof(place), "%s/%s/%s", here, places[i], object);
			if (is_file(place) && realpath(place, path) != NULL)
				return true;
		}
	}
	snprintf(path, room, "%s/%s", MAM_PRELOADDIR, object);
	return is_file(path);
}

bool run_object_exists(const char *object)
{
	char path[PATH_MAX];

	return run_object_find(object, path, sizeof(path));
}

bool run_object_put(const char *object, const char *variable)
{
	const char *before = getenv(variable);
	char path[PATH_MAX];
	char *list;
	bool good;

	if (!run_object_find(object, path, sizeof(path))) {
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
