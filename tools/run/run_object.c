/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_object.c - find the shared objects of mam run. First beside this command, as in a build
 * folder; then at the relative path of an installed tree, even if the tree was moved; last at the
 * path that configure chose.
 */
#define _GNU_SOURCE /* asprintf */
#include "run/run_object.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kit/message.h"
#include "kit/own_place.h"

static bool is_file(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

bool run_object_find(const char *object, char *path, size_t room)
{
	char here[PATH_MAX], relative[PATH_MAX], place[3 * PATH_MAX];
	const char *const places[] = { ".libs", ".", relative };

	own_place_way(MAM_BINDIR, MAM_PRELOADDIR, relative, sizeof(relative));
	if (own_place(here, sizeof(here))) {
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
		message_error("cannot find %s beside this command or in %s; check the installation",
			      object, MAM_PRELOADDIR);
		return false;
	}
	if (strpbrk(path, " \t\n:") != NULL) {
		message_error("path '%s' contains a space or a colon, which %s does not allow; "
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
