/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_oom.c - the folder for out-of-memory reports, which the object expects to exist.
 *
 * A folder that the user names must be usable now. The default one is $XDG_STATE_HOME/mam or
 * ~/.local/state/mam. If it cannot be created, the program still starts, and the object reports
 * the reason when the program is out of memory.
 */
#define _GNU_SOURCE /* realpath */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kit/message.h"
#include "run/run_env.h"

#define VARIABLE "MAM_OOM_REPORT"

/* Creates the folder and those above it, for this user alone. */
static void create(const char *folder)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", folder);
	for (char *at = strchr(path + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(path, 0700);
		*at = '/';
	}
	mkdir(path, 0700);
}

/* Returns false if the user has no folder for such files. */
static bool default_folder(char folder[PATH_MAX])
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int length;

	if (state != NULL && state[0] == '/')
		length = snprintf(folder, PATH_MAX, "%s/mam", state);
	else if (home != NULL && home[0] == '/')
		length = snprintf(folder, PATH_MAX, "%s/.local/state/mam", home);
	else
		return false;
	return length < PATH_MAX;
}

static bool set_default(void)
{
	char folder[PATH_MAX];

	if (getenv(VARIABLE) != NULL || !isatty(STDERR_FILENO) || !default_folder(folder))
		return true;
	create(folder);
	return setenv(VARIABLE, folder, 1) == 0;
}

bool run_env_oom(const struct run_settings *settings)
{
	const char *folder = settings->oom_report;
	char whole[PATH_MAX];
	struct stat status;

	if (folder == NULL)
		return set_default();
	if (strcmp(folder, "no") == 0)
		return setenv(VARIABLE, "", 1) == 0;
	if (strlen(folder) < sizeof(whole))
		create(folder);
	if (realpath(folder, whole) != NULL && stat(whole, &status) == 0) {
		errno = S_ISDIR(status.st_mode) ? 0 : ENOTDIR;
		if (errno == 0 && access(whole, W_OK | X_OK) == 0)
			return setenv(VARIABLE, whole, 1) == 0;
	}
	message_error("--oom-report: cannot write to '%.300s': %s", folder, strerror(errno));
	return false;
}
