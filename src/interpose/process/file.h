/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - the files that watchers write: their names, and how nobody ever reads half of one.
 *
 *   name     %p is the process's number, %h the host's name, %% a percent sign. Without %p a
 *            process other than the one that mam run started puts a dot and its number behind.
 *   content  is written to a file that gets its name when it is whole (<mam/newfile.h>). A pipe or
 *            a device is written to as it is; a pipe that no process reads is an error. A symbolic
 *            link in the place of a file is refused, except below /dev and /proc.
 *   locks    A file that is written to after it has its name is locked (flock) until it is closed
 *            or its process ends. It is not replaced until then. A whole file is: the last of
 *            several processes that publish one name wins.
 *
 * Errors are errno's numbers; 0 is success. Threads: a file belongs to one at a time.
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
	int number;      /* descriptor */
	bool in_place;   /* a pipe or a device: nothing to rename */
	dev_t device;    /* which file it is, should the program close our descriptor */
	ino_t inode;
	char place[PATH_MAX];
	struct mam_newfile new; /* it, unless in place */
};

/* Whether this is the process that mam run started. */
bool mam_file_is_started_one(void);

/* Whether this process is watched at all: with MAM_CHILDREN=no only the started one is. */
bool mam_file_is_watched(void);

/* The name that a pattern means in this process. */
int mam_file_name(const char *pattern, size_t bytes, char *name);

/* The file of that name, to be written. A pipe or a device has its name for all processes. */
int mam_file_open(const char *pattern, struct mam_file *file);

/* The same by the very name. */
int mam_file_create(const char *place, struct mam_file *file);

/* All of it, or an error. The descriptor is not trusted: EBADF when it is another file by now. */
int mam_file_write(const struct mam_file *file, const void *data, size_t bytes);

/* Gives it its name. */
int mam_file_publish(struct mam_file *file);

/* The same, and locks it. EBUSY: another process holds the lock of the file of that name. */
int mam_file_publish_locked(struct mam_file *file);

/* The text for an error of these functions. */
const char *mam_file_error(int error);

/* Closes it. What was not published is removed. */
int mam_file_close(struct mam_file *file);

/*
 * While files are written: a limit on their size or a pipe nobody reads is an error, not a signal
 * to the program.
 */
struct mam_file_signals {
	sigset_t before;
	bool size_pending, pipe_pending;
};
void mam_file_hush(struct mam_file_signals *signals);
void mam_file_unhush(const struct mam_file_signals *signals);

/* Text on its way to a descriptor. */
struct mam_file_text {
	int number;
	int error; /* errno of the first write that failed, or 0 */
	const struct mam_file *file; /* whose descriptor it is; NULL: nobody's */
	size_t length;
	char chars[8192];
};
void mam_file_put(struct mam_file_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void mam_file_put_bytes(struct mam_file_text *text, unsigned long long bytes); /* "1.43 GiB" */

/* The same by value, for other sentences. */
struct mam_file_bytes {
	char text[16];
};
struct mam_file_bytes mam_file_bytes(unsigned long long bytes);
int mam_file_flush(struct mam_file_text *text);

#endif
