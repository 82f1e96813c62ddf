/* SPDX-License-Identifier: Apache-2.0 */
/*
 * newfile.c - see <mam/newfile.h>.
 *
 * An unnamed file gets a name by linkat(), which never replaces a file. To replace a file, the new
 * one first gets a temporary name in the same folder and is then renamed. Signals are blocked
 * between these two calls.
 *
 * Only system calls and snprintf() are used, since the process may be terminating in any state.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_TMPFILE */
#endif
#include <mam/newfile.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OPEN_FILES "/proc/self/fd"
#define TRIES_MAX 100u

static void folder_of(const char *place, char folder[MAM_NEWFILE_BYTES])
{
	const char *slash = strrchr(place, '/');

	if (slash == NULL)
		snprintf(folder, MAM_NEWFILE_BYTES, ".");
	else
		snprintf(folder, MAM_NEWFILE_BYTES, "%.*s", (int)(slash - place) + 1, place);
}

/* Make the name for the n-th attempt. False: it is too long. */
static bool make_name(char name[MAM_NEWFILE_BYTES], const char *place, unsigned int n)
{
	return snprintf(name, MAM_NEWFILE_BYTES, "%s.%d-%u", place, (int)getpid(), n) <
	       MAM_NEWFILE_BYTES;
}

static int open_named(struct mam_newfile *file, const char *place, mode_t mode)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;

	for (unsigned int n = 0; n < TRIES_MAX; n++) {
		if (!make_name(file->beside, place, n)) {
			file->beside[0] = '\0';
			return ENAMETOOLONG;
		}
		file->number = open(file->beside, flags, mode);
		if (file->number >= 0)
			return 0;
		file->beside[0] = '\0';
		if (errno != EEXIST)
			return errno;
	}
	return EEXIST;
}

int mam_newfile_open(struct mam_newfile *file, const char *place, mode_t mode)
{
	char folder[MAM_NEWFILE_BYTES];

	file->number = -1;
	file->beside[0] = '\0';
	folder_of(place, folder);
	if (access(OPEN_FILES, X_OK) == 0)
		file->number = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
	file->is_unnamed = file->number >= 0;
	return file->is_unnamed ? 0 : open_named(file, place, mode);
}

/* Give the file another name, which must not exist (EEXIST). */
static int link_to(struct mam_newfile *file, const char *name)
{
	char number[sizeof(OPEN_FILES) + 16];

	if (!file->is_unnamed)
		return link(file->beside, name) == 0 ? 0 : errno;
	snprintf(number, sizeof(number), OPEN_FILES "/%d", file->number);
	if (linkat(AT_FDCWD, number, AT_FDCWD, name, AT_SYMLINK_FOLLOW) != 0)
		return errno;
	file->is_unnamed = false;
	return 0;
}

int mam_newfile_add(struct mam_newfile *file, const char *place)
{
	int error = link_to(file, place);

	if (error == 0)
		mam_newfile_drop(file);
	return error;
}

static int make_beside(struct mam_newfile *file, const char *place)
{
	char name[MAM_NEWFILE_BYTES];
	int error = EEXIST;

	for (unsigned int n = 0; error == EEXIST && n < TRIES_MAX; n++) {
		if (!make_name(name, place, n))
			return ENAMETOOLONG;
		error = link_to(file, name);
	}
	if (error == 0)
		memcpy(file->beside, name, sizeof(name));
	return error;
}

int mam_newfile_put(struct mam_newfile *file, const char *place)
{
	sigset_t all, before;
	int error = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (file->is_unnamed)
		error = make_beside(file, place);
	if (error == 0 && rename(file->beside, place) != 0)
		error = errno;
	if (error == 0)
		file->beside[0] = '\0';
	else
		mam_newfile_drop(file);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

void mam_newfile_drop(struct mam_newfile *file)
{
	if (file->beside[0] != '\0')
		unlink(file->beside);
	file->beside[0] = '\0';
}
