/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.c - see file.h.
 */
#include "interpose/process/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <mam/filename.h>
#include <mam/options.h>

#define TRIES_MAX 100

/* The number in MAM_RUN_PID, or 0. */
static long started_pid(void)
{
	const char *number = secure_getenv("MAM_RUN_PID");

	return number == NULL ? 0 : strtol(number, NULL, 10);
}

bool mam_file_is_started_one(void)
{
	return started_pid() == (long)getpid();
}

/* A library that the user preloads has no started process; all processes are watched then. */
bool mam_file_is_watched(void)
{
	const char *children = mam_option_value("MAM_CHILDREN");

	return children == NULL || strcmp(children, "no") != 0 || started_pid() == 0 ||
	       mam_file_is_started_one();
}

int mam_file_name(const char *pattern, size_t bytes, char *name)
{
	const int parts = mam_filename_expand(pattern, bytes, name);
	size_t length;

	if (parts < 0)
		return ENAMETOOLONG;
	if (parts != 0 || mam_file_is_started_one())
		return 0;
	length = strlen(name);
	return (size_t)snprintf(name + length, bytes - length, ".%d", (int)getpid()) <
			       bytes - length
		       ? 0
		       : ENAMETOOLONG;
}

bool mam_file_is_of_rank(const char *pattern)
{
	char name[PATH_MAX];
	const int parts = mam_filename_expand(pattern, sizeof(name), name);

	return parts >= 0 && (parts & MAM_FILENAME_RANK) != 0;
}

static int remember(struct mam_file *file)
{
	struct stat status;

	if (fstat(file->number, &status) != 0)
		return errno;
	file->device = status.st_dev;
	file->inode = status.st_ino;
	return 0;
}

/*
 * Opens without waiting: a pipe without a reader would keep the program from ending. Writes wait,
 * as the program's own would.
 */
static int open_in_place(struct mam_file *file, int flags)
{
	flags |= O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC | O_NONBLOCK;
	file->in_place = true;
	file->number = open(file->place, flags);
	if (file->number < 0)
		return errno;
	fcntl(file->number, F_SETFL, O_APPEND);
	return remember(file);
}

static int open_unpublished(struct mam_file *file)
{
	int error = mam_newfile_open(&file->new, file->place, 0600);

	file->number = file->new.number;
	return error == 0 ? remember(file) : error;
}

static bool is_below(const char *path, const char *folder)
{
	return strncmp(path, folder, strlen(folder)) == 0;
}

int mam_file_create(const char *place, struct mam_file *file)
{
	struct stat status;

	file->number = -1;
	file->in_place = file->new.is_unnamed = false;
	file->new.beside[0] = '\0';
	if (place != file->place &&
	    snprintf(file->place, sizeof(file->place), "%s", place) >= (int)sizeof(file->place))
		return ENAMETOOLONG;
	if (lstat(place, &status) != 0)
		return errno == ENOENT ? open_unpublished(file) : errno;
	if (S_ISLNK(status.st_mode) && !is_below(place, "/dev/") && !is_below(place, "/proc/"))
		return ELOOP;
	if (S_ISLNK(status.st_mode)) /* /dev/stdout is a symbolic link */
		return open_in_place(file, 0);
	return S_ISREG(status.st_mode) ? open_unpublished(file) : open_in_place(file, O_NOFOLLOW);
}

/* The name is made in *file: the thread's stack may have only 16 KiB (PTHREAD_STACK_MIN). */
int mam_file_open(const char *pattern, struct mam_file *file)
{
	struct stat status;
	int error;

	file->number = -1;
	file->new.beside[0] = '\0';
	if (lstat(pattern, &status) == 0 && !S_ISREG(status.st_mode))
		return mam_file_create(pattern, file);
	error = mam_file_name(pattern, sizeof(file->place), file->place);
	return error == 0 ? mam_file_create(file->place, file) : error;
}

int mam_file_adopt(int number, struct mam_file *file)
{
	file->number = number;
	file->in_place = true;
	file->place[0] = '\0';
	file->new.is_unnamed = false;
	file->new.beside[0] = '\0';
	return remember(file);
}

/* If ours had no name, the other file may even have the same inode number, but it has a name. */
bool mam_file_is_ours(const struct mam_file *file)
{
	struct stat status;

	return fstat(file->number, &status) == 0 && status.st_dev == file->device &&
	       status.st_ino == file->inode && (!file->new.is_unnamed || status.st_nlink == 0);
}

int mam_file_write(const struct mam_file *file, const void *data, size_t bytes)
{
	size_t done = 0;

	if (!mam_file_is_ours(file))
		return EBADF;
	while (done < bytes) {
		ssize_t written = write(file->number, (const char *)data + done, bytes - done);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? errno : EIO;
		done += (size_t)written;
	}
	return 0;
}

int mam_file_publish(struct mam_file *file)
{
	int error;

	if (file->in_place)
		return 0;
	if (!mam_file_is_ours(file))
		return EBADF;
	error = mam_newfile_add(&file->new, file->place);
	/* A file system without links, which has no unnamed files either, needs the rename. */
	return error == EEXIST || (error != 0 && !file->new.is_unnamed)
		       ? mam_newfile_put(&file->new, file->place)
		       : error;
}

static bool is_at(int number, const char *place)
{
	struct stat there, status;

	return fstat(number, &status) == 0 && lstat(place, &there) == 0 &&
	       there.st_dev == status.st_dev && there.st_ino == status.st_ino;
}

/*
 * The existing file of that name is locked while it is replaced: of two processes that arrive at
 * once, one finds it locked. EAGAIN: the name refers to another file by now.
 */
static int publish_over_unlocked(struct mam_file *file)
{
	int error, there = open(file->place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (there < 0 && errno == EACCES) /* this user cannot know its lock */
		return mam_newfile_put(&file->new, file->place);
	if (there < 0)
		return errno == ENOENT ? EAGAIN : errno;
	if (flock(there, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		error = EBUSY;
	else
		error = is_at(there, file->place) ? mam_newfile_put(&file->new, file->place)
						  : EAGAIN;
	close(there);
	return error;
}

int mam_file_publish_locked(struct mam_file *file)
{
	int error = EAGAIN;

	if (file->in_place)
		return 0;
	if (!mam_file_is_ours(file))
		return EBADF;
	flock(file->number, LOCK_EX | LOCK_NB); /* a new file; some file systems have no locks */
	for (int i = 0; error == EAGAIN && i < TRIES_MAX; i++) {
		error = mam_newfile_add(&file->new, file->place);
		if (error == EEXIST)
			error = publish_over_unlocked(file);
		else if (error != 0 && !file->new.is_unnamed)
			error = mam_newfile_put(&file->new, file->place);
	}
	return error == EAGAIN ? EBUSY : error;
}

const char *mam_file_error(int error)
{
	return error == EBUSY   ? "another process is writing this file"
	       : error == ENXIO ? "no process reads this pipe"
				: strerror(error);
}

int mam_file_close(struct mam_file *file)
{
	int error = 0;

	mam_newfile_drop(&file->new);
	if (file->number < 0)
		return 0;
	if (mam_file_is_ours(file) && close(file->number) != 0)
		error = errno;
	file->number = -1;
	return error;
}

void mam_file_hush(struct mam_file_signals *signals)
{
	sigset_t hushed, pending;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &signals->cancel_state);
	sigemptyset(&hushed);
	sigaddset(&hushed, SIGXFSZ);
	sigaddset(&hushed, SIGPIPE);
	sigpending(&pending);
	signals->size_pending = sigismember(&pending, SIGXFSZ) == 1;
	signals->pipe_pending = sigismember(&pending, SIGPIPE) == 1;
	pthread_sigmask(SIG_BLOCK, &hushed, &signals->before);
}

static void swallow(int signal)
{
	static const struct timespec at_once = { 0, 0 };
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, signal);
	while (sigtimedwait(&one, NULL, &at_once) < 0 && errno == EINTR)
		;
}

void mam_file_unhush(const struct mam_file_signals *signals)
{
	int before = errno;
	sigset_t pending;

	sigpending(&pending);
	if (sigismember(&pending, SIGXFSZ) == 1 && !signals->size_pending)
		swallow(SIGXFSZ);
	if (sigismember(&pending, SIGPIPE) == 1 && !signals->pipe_pending)
		swallow(SIGPIPE);
	pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
	pthread_setcancelstate(signals->cancel_state, NULL);
	errno = before;
}

int mam_file_flush(struct mam_file_text *text)
{
	size_t done = 0;

	if (text->file != NULL && text->error == 0) {
		text->error = mam_file_write(text->file, text->chars, text->length);
		text->length = 0;
	}
	while (done < text->length && text->error == 0) {
		ssize_t written = write(text->number, text->chars + done, text->length - done);

		if (written > 0)
			done += (size_t)written;
		else if (errno != EINTR)
			text->error = written < 0 ? errno : EIO;
	}
	text->length = 0;
	return text->error;
}

/*
 * If the text does not fit into the remaining space, the buffer is flushed first. Text longer than
 * the whole buffer is truncated.
 */
void mam_file_put(struct mam_file_text *text, const char *format, ...)
{
	va_list arguments, again;
	size_t room = sizeof(text->chars) - text->length;
	int length;

	va_start(arguments, format);
	va_copy(again, arguments);
	length = vsnprintf(text->chars + text->length, room, format, arguments);
	if (length >= 0 && (size_t)length >= room) {
		mam_file_flush(text);
		room = sizeof(text->chars);
		length = vsnprintf(text->chars, room, format, again);
	}
	va_end(again);
	va_end(arguments);
	if (length > 0)
		text->length += (size_t)length < room ? (size_t)length : room - 1;
}

struct mam_file_bytes mam_file_bytes(unsigned long long bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	struct mam_file_bytes written;
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		unit++;
	}
	snprintf(written.text, sizeof(written.text), value < 10 && unit > 0 ? "%.2f %s" : "%.0f %s",
		 value, units[unit]);
	return written;
}

void mam_file_put_bytes(struct mam_file_text *text, unsigned long long bytes)
{
	mam_file_put(text, "%s", mam_file_bytes(bytes).text);
}
