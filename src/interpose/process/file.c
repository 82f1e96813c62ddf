/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.c - see file.h.
 */
#include "interpose/process/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <mam/options.h>

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

/* Preloaded by hand there is no started one, and all are watched. */
bool mam_file_is_watched(void)
{
	const char *children = mam_option_value("MAM_CHILDREN");

	return children == NULL || strcmp(children, "no") != 0 || started_pid() == 0 ||
	       mam_file_is_started_one();
}

int mam_file_name(const char *pattern, size_t bytes, char *name)
{
	bool has_pid = false;
	size_t length = 0;

	for (const char *at = pattern; *at != '\0'; at++) {
		char word[HOST_NAME_MAX + 1] = { *at };

		if (*at == '%' && at[1] == 'p') {
			snprintf(word, sizeof(word), "%d", (int)getpid());
			has_pid = true;
		} else if (*at == '%' && at[1] == 'h') {
			if (gethostname(word, sizeof(word)) != 0)
				snprintf(word, sizeof(word), "host");
			word[sizeof(word) - 1] = '\0';
		}
		if (*at == '%' && (at[1] == 'p' || at[1] == 'h' || at[1] == '%'))
			at++;
		if (length + strlen(word) >= bytes)
			return ENAMETOOLONG;
		length += (size_t)snprintf(name + length, bytes - length, "%s", word);
	}
	name[length] = '\0';
	if (has_pid || mam_file_is_started_one())
		return 0;
	return (size_t)snprintf(name + length, bytes - length, ".%d", (int)getpid()) <
			       bytes - length
		       ? 0
		       : ENAMETOOLONG;
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

static int open_in_place(struct mam_file *file, int flags)
{
	file->in_place = true;
	file->number = open(file->place, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC | flags);
	return file->number < 0 ? errno : remember(file);
}

static int open_beside(struct mam_file *file)
{
	if (snprintf(file->beside, sizeof(file->beside), "%s.XXXXXX", file->place) >=
	    (int)sizeof(file->beside))
		return ENAMETOOLONG;
	file->number = mkostemp(file->beside, O_CLOEXEC | O_NOFOLLOW); /* O_EXCL, 0600 */
	return file->number < 0 ? errno : remember(file);
}

static bool is_below(const char *path, const char *folder)
{
	return strncmp(path, folder, strlen(folder)) == 0;
}

int mam_file_create(const char *place, struct mam_file *file)
{
	struct stat status;

	file->number = -1;
	file->in_place = false;
	file->beside[0] = '\0';
	if (snprintf(file->place, sizeof(file->place), "%s", place) >= (int)sizeof(file->place))
		return ENAMETOOLONG;
	if (lstat(place, &status) != 0)
		return errno == ENOENT ? open_beside(file) : errno;
	if (S_ISLNK(status.st_mode) && !is_below(place, "/dev/") && !is_below(place, "/proc/"))
		return ELOOP;
	if (S_ISLNK(status.st_mode)) /* /dev/stdout is one */
		return open_in_place(file, 0);
	return S_ISREG(status.st_mode) ? open_beside(file) : open_in_place(file, O_NOFOLLOW);
}

int mam_file_open(const char *pattern, struct mam_file *file)
{
	char name[PATH_MAX];
	struct stat status;
	int error;

	file->number = -1;
	file->beside[0] = '\0';
	if (lstat(pattern, &status) == 0 && !S_ISREG(status.st_mode))
		return mam_file_create(pattern, file);
	error = mam_file_name(pattern, sizeof(name), name);
	return error == 0 ? mam_file_create(name, file) : error;
}

int mam_file_write(const struct mam_file *file, const void *data, size_t bytes)
{
	struct stat status;
	size_t done = 0;

	if (fstat(file->number, &status) != 0 || status.st_dev != file->device ||
	    status.st_ino != file->inode)
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
	if (file->beside[0] == '\0')
		return 0;
	if (rename(file->beside, file->place) != 0)
		return errno;
	file->beside[0] = '\0';
	return 0;
}

int mam_file_close(struct mam_file *file)
{
	struct stat status;
	int error = 0;

	if (file->beside[0] != '\0')
		unlink(file->beside);
	file->beside[0] = '\0';
	if (file->number < 0 || fstat(file->number, &status) != 0)
		return 0;
	if (status.st_dev == file->device && status.st_ino == file->inode &&
	    close(file->number) != 0)
		error = errno;
	file->number = -1;
	return error;
}

void mam_file_hush(struct mam_file_signals *signals)
{
	sigset_t hushed, pending;

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

/* A piece longer than the room that is left waits for an empty buffer; longer still it is cut. */
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

void mam_file_put_bytes(struct mam_file_text *text, unsigned long long bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		unit++;
	}
	mam_file_put(text, value < 10 && unit > 0 ? "%.2f %s" : "%.0f %s", value, units[unit]);
}
