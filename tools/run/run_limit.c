/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_limit.c - the file of a limit that processes share (src/interpose/memory/shared.c).
 *
 * 1. Without a name, make a new one; the first process that needs the file creates it. Under
 *    another mam run that shares its limit, keep the file of that one.
 * 2. Remove the files of jobs whose processes were all killed: no process has a lock on them. A
 *    process that has opened such a file at this moment opens it again.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kit/message.h"
#include "run/run_env.h"

#define FOLDER "/dev/shm"
#define PREFIX "mam-limit-%u-"

static void remove_unused(const char *path)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int file = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat status;

	if (file < 0)
		return;
	if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
	    fcntl(file, F_SETLK, &all) == 0)
		unlink(path);
	close(file);
}

static void sweep(void)
{
	char prefix[32], path[PATH_MAX];
	DIR *folder = opendir(FOLDER);
	struct dirent *entry;
	int length;

	if (folder == NULL)
		return;
	snprintf(prefix, sizeof(prefix), PREFIX, (unsigned int)geteuid());
	while ((entry = readdir(folder)) != NULL) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		length = snprintf(path, sizeof(path), FOLDER "/%s", entry->d_name);
		if (length > 0 && length < (int)sizeof(path))
			remove_unused(path);
	}
	closedir(folder);
}

static bool set_new(void)
{
	struct timespec now;
	char path[128];

	sweep();
	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(path, sizeof(path), FOLDER "/" PREFIX "%ld-%llx", (unsigned int)geteuid(),
		 (long)getpid(),
		 (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec);
	return run_env_file("limit-shared", "MAM_LIMIT_FILE", path);
}

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value != NULL && *value != '\0';
}

bool run_limit_set(const char *file)
{
	if (file == NULL)
		return true;
	if (!is_set("MAM_LIMIT")) {
		message_error("--limit-shared requires --limit SIZE");
		return false;
	}
	if (*file != '\0')
		return run_env_file("limit-shared", "MAM_LIMIT_FILE", file);
	return is_set("MAM_LIMIT_FILE") || set_new();
}
