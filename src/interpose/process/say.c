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
	static const char *const prefixes[] = {
		[MAM_SAY_ERROR] = "mam: error: ",
		[MAM_SAY_WARN] = "mam: warning: ",
		[MAM_SAY_INFO] = "mam: ",
		[MAM_SAY_DEBUG] = "mam: ",
	};
	char line[LINE_BYTES];
	int before = errno, prefix, length;
	va_list arguments;

	if (!mam_say_wants(level))
		return;
	prefix = snprintf(line, sizeof(line), "%s", prefixes[level]);
	va_start(arguments, format);
	length = vsnprintf(line + prefix, LINE_BYTES - 1 - (size_t)prefix, format, arguments);
	va_end(arguments);
	length = prefix + (length < 0 ? 0 : length);
	if (length > LINE_BYTES - 2)
		length = LINE_BYTES - 2;
	line[length] = '\n';
	put(line, (size_t)length + 1);
	errno = before;
}
