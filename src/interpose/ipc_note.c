/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_note.c - one small file a shared block, in /dev/shm (ipc_note.h).
 *
 *   write   Under another name with O_EXCL, then renamed: a reader finds all of it or nothing.
 *   read    No links followed; a regular file of this user, for nobody else, of exactly the right
 *           size; the token inside is the one asked for; the block lies inside its chunk.
 *   sweep   A note whose owner is gone. Only those of the same process namespace are judged: in
 *           another one the same number is somebody else.
 */
#include "interpose/ipc_note.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "/dev/shm"
#define PREFIX "mam-ipc-"
#define PATH_BYTES 128

static const char mark[8] = "mamipc1";

static uint64_t names_space(void)
{
	struct stat status;

	return stat("/proc/self/ns/pid", &status) == 0 ? (uint64_t)status.st_ino : 0;
}

/* Field 22 of /proc/PID/stat; 0: there is no such process. */
static uint64_t start_of(long process)
{
	char path[64], text[1024];
	const char *at;
	ssize_t length;
	int file;

	snprintf(path, sizeof(path), "/proc/%ld/stat", process);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return 0;
	length = read(file, text, sizeof(text) - 1);
	close(file);
	if (length <= 0)
		return 0;
	text[length] = '\0';
	at = strrchr(text, ')'); /* the name before it may hold anything */
	for (int field = 2; at != NULL && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at == NULL ? 0 : strtoull(at, NULL, 10);
}

static void path_of(const unsigned char *token, char *path)
{
	int length = snprintf(path, PATH_BYTES, FOLDER "/" PREFIX "%u-", (unsigned int)geteuid());

	for (int i = 0; i < MAM_MARKS_TOKEN_BYTES; i++)
		length += snprintf(path + length, (size_t)(PATH_BYTES - length), "%02x", token[i]);
}

bool mam_ipc_note_begin(struct mam_ipc_note *note)
{
	memset(note, 0, sizeof(*note));
	memcpy(note->mark, mark, sizeof(mark));
	note->version = 1;
	note->owner = (int32_t)getpid();
	note->names_space = names_space();
	note->started = start_of((long)getpid());
	return getrandom(note->token, sizeof(note->token), 0) == (ssize_t)sizeof(note->token);
}

bool mam_ipc_note_write(const struct mam_ipc_note *note)
{
	char path[PATH_BYTES], beside[PATH_BYTES + 8];
	bool good;
	int file;

	path_of(note->token, path);
	snprintf(beside, sizeof(beside), "%s.new", path);
	file = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0)
		return false;
	good = write(file, note, sizeof(*note)) == (ssize_t)sizeof(*note);
	good = close(file) == 0 && good;
	good = good && rename(beside, path) == 0;
	if (!good)
		unlink(beside);
	return good;
}

static bool is_safe(int file)
{
	struct stat status;

	return fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
	       status.st_uid == geteuid() && (status.st_mode & 077) == 0 &&
	       status.st_size == (off_t)sizeof(struct mam_ipc_note);
}

static bool is_sound(const struct mam_ipc_note *note)
{
	return memcmp(note->mark, mark, sizeof(mark)) == 0 && note->version == 1 &&
	       note->bytes != 0 && note->offset <= note->chunk_bytes &&
	       note->bytes <= note->chunk_bytes - note->offset;
}

static bool read_note(const char *path, struct mam_ipc_note *note)
{
	int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool good;

	if (file < 0)
		return false;
	good = is_safe(file) && read(file, note, sizeof(*note)) == (ssize_t)sizeof(*note);
	close(file);
	return good && is_sound(note);
}

bool mam_ipc_note_read(const unsigned char *token, struct mam_ipc_note *note)
{
	char path[PATH_BYTES];

	path_of(token, path);
	return read_note(path, note) &&
	       memcmp(note->token, token, MAM_MARKS_TOKEN_BYTES) == 0;
}

void mam_ipc_note_remove(const unsigned char *token)
{
	char path[PATH_BYTES];

	path_of(token, path);
	unlink(path);
}

void mam_ipc_note_sweep(void)
{
	char prefix[32], path[PATH_BYTES + NAME_MAX];
	uint64_t here = names_space();
	struct mam_ipc_note note;
	struct dirent *entry;
	DIR *folder = opendir(FOLDER);

	if (folder == NULL)
		return;
	snprintf(prefix, sizeof(prefix), PREFIX "%u-", (unsigned int)geteuid());
	while ((entry = readdir(folder)) != NULL) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		snprintf(path, sizeof(path), FOLDER "/%s", entry->d_name);
		if (read_note(path, &note) && here != 0 && note.names_space == here &&
		    start_of((long)note.owner) != note.started)
			unlink(path);
	}
	closedir(folder);
}
