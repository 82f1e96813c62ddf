/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.c - messages to the user (log.h).
 *
 * The file is opened for each line and closed afterwards. Lines are rare. In return there is no
 * descriptor that a program could close unexpectedly, no lock, and no state to repair after a
 * fork.
 */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/option.h"

#define LINE_BYTES 1024

static void write_all(int fd, const char *text, size_t length)
{
	while (length > 0) {
		ssize_t written = write(fd, text, length);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return; /* there is no other place to report the error */
		text += written;
		length -= (size_t)written;
	}
}

/* Replace control characters: a value from the environment must not control the terminal. */
static void clean(char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
	}
}

bool mam_log_wants(enum mam_log_level level)
{
	return (unsigned int)level <= mam_option_choice(MAM_OPTION_LOG);
}

void mam_log(enum mam_log_level level, const char *format, ...)
{
	const int saved_errno = errno;
	char line[LINE_BYTES];
	int prefix, length, fd = -1;
	const char *path;
	va_list arguments;

	if (!mam_log_wants(level))
		return;
	path = mam_option_text(MAM_OPTION_LOG_FILE);
	/* A pipe without a reader must not block the program: open it with O_NONBLOCK. */
	if (path[0])
		fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
	if (fd >= 0)
		fcntl(fd, F_SETFL, O_APPEND);
	prefix = fd >= 0 ? snprintf(line, sizeof(line), "mam[%d]: ", (int)getpid())
			 : snprintf(line, sizeof(line), "mam: ");
	va_start(arguments, format);
	length = vsnprintf(line + prefix, sizeof(line) - (size_t)prefix - 1, format, arguments);
	va_end(arguments);
	if (length < 0)
		line[prefix] = '\0'; /* the format is invalid; the prefix remains */
	else if ((size_t)length >= sizeof(line) - (size_t)prefix - 1)
		memcpy(line + sizeof(line) - 5, "...", 4);
	clean(line);
	length = (int)strlen(line);
	line[length] = '\n';
	write_all(fd >= 0 ? fd : STDERR_FILENO, line, (size_t)length + 1);
	if (fd >= 0)
		close(fd);
	errno = saved_errno;
}
