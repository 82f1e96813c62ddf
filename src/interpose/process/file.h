/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - the files that watchers write: their names, and how they become visible only when
 * complete.
 *
 *   name     <mam/filename.h> has the patterns: %p, %r, %h. Without %p and %r, a process other than
 *            the one that mam run started appends a dot and its process ID.
 *   content  The content is written to a file that gets its name when it is complete
 *            (<mam/newfile.h>). A pipe or a device is written directly; a pipe without a reader is
 *            an error. A symbolic link in the place of a file is refused, except below /dev and
 *            /proc.
 *   locks    A file that is written after it has its name is locked (flock) until it is closed or
 *            its process ends. It is not replaced until then. A complete file may be replaced: if
 *            several processes publish one name, the last one wins.
 *
 * Errors are errno values; 0 is success. Threads: only one may use a file at a time.
 */
#ifndef MAM_INTERPOSE_FILE_H
#define MAM_INTERPOSE_FILE_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <mam/newfile.h>

struct mam_file {
	int number;    /* descriptor */
	bool in_place; /* a pipe or a device: nothing to rename */
	dev_t device;  /* of the file, in case the program closes our descriptor */
	ino_t inode;
	char place[PATH_MAX];
	struct mam_newfile new; /* the new file, unless in place */
};

/* Whether this is the process that mam run started. */
bool mam_file_is_started_one(void);

/* Whether this process is watched: with MAM_CHILDREN=no only the started one is. */
bool mam_file_is_watched(void);

/* Expands a pattern to a file name for this process. */
int mam_file_name(const char *pattern, size_t bytes, char *name);

/*
 * Whether the name contains %r. All processes of one rank have that name, so one that has nothing
 * to report writes no file: it might replace the file of another.
 */
bool mam_file_is_of_rank(const char *pattern);

/*
 * Opens the file of that pattern for writing. The name of a pipe or a device is the same for all
 * processes.
 */
int mam_file_open(const char *pattern, struct mam_file *file);

/* The same for a name that is used as it is. */
int mam_file_create(const char *place, struct mam_file *file);

/* Takes over a descriptor, for example of a socket, for writing and closing. */
int mam_file_adopt(int number, struct mam_file *file);

/* Whether the descriptor still is this file: the program may have closed it and opened another. */
bool mam_file_is_ours(const struct mam_file *file);

/* Writes all bytes, or returns an error. Returns EBADF if the descriptor is another file by now. */
int mam_file_write(const struct mam_file *file, const void *data, size_t bytes);

/* Gives the file its name. */
int mam_file_publish(struct mam_file *file);

/* Also locks the file. EBUSY: another process holds the lock of the existing file of that name. */
int mam_file_publish_locked(struct mam_file *file);

/* Returns the text for an error of these functions. */
const char *mam_file_error(int error);

/* Closes the file. An unpublished file is removed. */
int mam_file_close(struct mam_file *file);

/*
 * Called around writes to files: a file size limit or a pipe without a reader is then an error
 * instead of a signal to the program. A cancelled thread (pthread_cancel) goes on until the end.
 */
struct mam_file_signals {
	sigset_t before;
	int cancel_state;
	bool size_pending, pipe_pending;
};
void mam_file_hush(struct mam_file_signals *signals);
void mam_file_unhush(const struct mam_file_signals *signals);

/* Buffered text for a descriptor. */
struct mam_file_text {
	int number;
	int error;                   /* errno of the first write that failed, or 0 */
	const struct mam_file *file; /* owns the descriptor; NULL: no file */
	size_t length;
	char chars[8192];
};
void mam_file_put(struct mam_file_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void mam_file_put_bytes(struct mam_file_text *text, unsigned long long bytes); /* "1.43 GiB" */

/* Returns the same text by value, for messages. */
struct mam_file_bytes {
	char text[16];
};
struct mam_file_bytes mam_file_bytes(unsigned long long bytes);
int mam_file_flush(struct mam_file_text *text);

#endif
