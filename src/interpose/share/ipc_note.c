/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_note.c - one small file per shared block (ipc_note.h), in /dev/shm; if no file can be created
 * there, in $TMPDIR or in /tmp.
 *
 *   write   With O_EXCL, named by the token: no process looks for it before the token is published.
 *   read    Does not follow links. The file must be a regular file of this user, inaccessible to
 *           others, of exactly the right size. The token inside must match, the block must be
 *           inside its chunk, and the process that wrote it must be running; otherwise the note is
 *           removed.
 *   sweep   Removes notes whose owner has ended, and notes that were never written. Checks only
 *           owners of the same PID namespace: in another one the same number is another process.
 */
#define _GNU_SOURCE /* secure_getenv */
#include "interpose/share/ipc_note.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <mam/statpage.h>

#define PREFIX "mam-ipc-"
#define EMPTY_SECONDS 60 /* creating a file and writing it never takes that long */

static const char mark[8] = "mamipc1";

const char *mam_ipc_note_folder = "/dev/shm";

/* The directories for notes, best first; NULL after the last. */
static const char *folder_of(int place)
{
	const char *given = secure_getenv("TMPDIR");
	bool is_absolute = given != NULL && given[0] == '/';
	const char *const places[] = { mam_ipc_note_folder, is_absolute ? given : "/tmp",
				       is_absolute ? "/tmp" : NULL, NULL };

	return places[place];
}

static uint64_t names_space(void)
{
	struct stat status;

	return stat("/proc/self/ns/pid", &status) == 0 ? (uint64_t)status.st_ino : 0;
}

/* Returns false if the path is too long. */
static bool path_of(const char *folder, const unsigned char *token, char path[PATH_MAX])
{
	int length = snprintf(path, PATH_MAX, "%s/" PREFIX "%u-", folder, (unsigned int)geteuid());

	if (length < 0 || length >= PATH_MAX - 2 * MAM_MARKS_TOKEN_BYTES)
		return false;
	for (int i = 0; i < MAM_MARKS_TOKEN_BYTES; i++)
		length += snprintf(path + length, (size_t)(PATH_MAX - length), "%02x", token[i]);
	return true;
}

void mam_ipc_note_own(struct mam_ipc_note *note)
{
	note->owner = (int32_t)getpid();
	note->names_space = names_space();
	note->started = mam_statpage_start_of(getpid());
}

bool mam_ipc_note_begin(struct mam_ipc_note *note)
{
	memset(note, 0, sizeof(*note));
	memcpy(note->mark, mark, sizeof(mark));
	note->version = 3;
	mam_ipc_note_own(note);
	return getrandom(note->token, sizeof(note->token), 0) == (ssize_t)sizeof(note->token);
}

bool mam_ipc_note_is_own(const struct mam_ipc_note *note)
{
	return note->owner == (int32_t)getpid() && note->names_space == names_space() &&
	       note->started == mam_statpage_start_of(getpid());
}

static bool write_note(const char *path, const struct mam_ipc_note *note)
{
	int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool good;

	if (file < 0)
		return false;
	good = write(file, note, sizeof(*note)) == (ssize_t)sizeof(*note);
	good = close(file) == 0 && good;
	if (!good)
		unlink(path);
	return good;
}

bool mam_ipc_note_write(const struct mam_ipc_note *note)
{
	char path[PATH_MAX];
	const char *folder;

	for (int place = 0; (folder = folder_of(place)) != NULL; place++)
		if (path_of(folder, note->token, path) && write_note(path, note))
			return true;
	return false;
}

static bool is_safe(int file)
{
	struct stat status;

	return fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
	       (status.st_mode & 077) == 0 && status.st_size == (off_t)sizeof(struct mam_ipc_note);
}

static bool is_sound(const struct mam_ipc_note *note)
{
	return memcmp(note->mark, mark, sizeof(mark)) == 0 && note->version == 3 &&
	       note->bytes != 0 && note->offset <= note->chunk_bytes &&
	       note->bytes <= note->chunk_bytes - note->offset;
}

static bool read_note(const char *path, struct mam_ipc_note *note)
{
	int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	bool good;

	if (file < 0)
		return false;
	good = is_safe(file) && read(file, note, sizeof(*note)) == (ssize_t)sizeof(*note);
	close(file);
	return good && is_sound(note);
}

/* Returns false also if that is unknown. */
static bool owner_is_gone(const struct mam_ipc_note *note)
{
	uint64_t here = names_space();

	return here != 0 && note->names_space == here &&
	       mam_statpage_start_of((pid_t)note->owner) != note->started;
}

bool mam_ipc_note_read(const unsigned char *token, struct mam_ipc_note *note)
{
	struct mam_ipc_note found;
	char path[PATH_MAX];
	const char *folder;

	for (int place = 0; (folder = folder_of(place)) != NULL; place++) {
		if (!path_of(folder, token, path) || !read_note(path, &found) ||
		    memcmp(found.token, token, MAM_MARKS_TOKEN_BYTES) != 0)
			continue;
		if (owner_is_gone(&found)) {
			unlink(path);
			continue;
		}
		*note = found;
		return true;
	}
	return false;
}

void mam_ipc_note_remove(const unsigned char *token)
{
	char path[PATH_MAX];
	const char *folder;

	for (int place = 0; (folder = folder_of(place)) != NULL; place++)
		if (path_of(folder, token, path) && unlink(path) == 0)
			return;
}

static bool is_left_empty(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
	       status.st_size == 0 && time(NULL) - status.st_mtime > EMPTY_SECONDS;
}

static void sweep_folder(const char *name)
{
	char prefix[32], path[PATH_MAX];
	struct mam_ipc_note note;
	struct dirent *entry;
	DIR *folder = opendir(name);
	int length;

	if (folder == NULL)
		return;
	snprintf(prefix, sizeof(prefix), PREFIX "%u-", (unsigned int)geteuid());
	while ((entry = readdir(folder)) != NULL) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		length = snprintf(path, sizeof(path), "%s/%s", name, entry->d_name);
		if (length < 0 || length >= (int)sizeof(path))
			continue;
		if (read_note(path, &note) ? owner_is_gone(&note) : is_left_empty(path))
			unlink(path);
	}
	closedir(folder);
}

void mam_ipc_note_sweep(void)
{
	const char *folder;

	for (int place = 0; (folder = folder_of(place)) != NULL; place++)
		sweep_folder(folder);
}
