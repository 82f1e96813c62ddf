/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say.c - see say.h.
 */
#include "interpose/process/say.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <mam/options.h>

#define LINE_BYTES 1024

int mam_say_wants(enum mam_say_level level)
{
	return mam_option_number("MAM_LOG") >= (uint64_t)level;
}

static void put(const char *line, size_t bytes)
{
	const char *path = mam_option_value("MAM_LOG_FILE");
	int file = STDERR_FILENO;

	/* A pipe without a reader must not stop the program, so opening does not wait. */
	if (path != NULL && path[0] != '\0')
		file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
	if (file < 0)
		file = STDERR_FILENO;
	else if (file != STDERR_FILENO)
		fcntl(file, F_SETFL, O_APPEND);
	while (write(file, line, bytes) < 0 && errno == EINTR)
		;
	if (file != STDERR_FILENO)
		close(file);
}

void mam_say(enum mam_say_level level, const char *format, ...)
{
	char line[LINE_BYTES] = "mam: ";
	int before = errno, length;
	va_list arguments;

	if (!mam_say_wants(level))
		return;
	va_start(arguments, format);
	length = vsnprintf(line + 5, sizeof(line) - 6, format, arguments);
	va_end(arguments);
	if (length < 0)
		length = 0;
	if ((size_t)length > sizeof(line) - 7)
		length = sizeof(line) - 7;
	line[5 + length] = '\n';
	put(line, (size_t)length + 6);
	errno = before;
}
