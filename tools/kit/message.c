/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message.c - messages to the user, on stderr.
 *
 * A message is formatted first and written with one call, so that lines of several processes are
 * not interleaved. File names may contain any byte; control characters are shown as question marks.
 */
#include "kit/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *speaker = "mam";
static bool hushed;

void message_begin(const char *name)
{
	speaker = name;
}

void message_hush(bool hush)
{
	hushed = hush;
}

const char *message_name(void)
{
	return speaker;
}

static void format_clean(char *text, size_t bytes, const char *format, va_list arguments)
{
	vsnprintf(text, bytes, format, arguments);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
}

static void put(const char *kind, const char *format, va_list arguments)
{
	char text[1024];
	size_t length;

	if (hushed)
		return;
	format_clean(text, sizeof(text), format, arguments);
	length = strlen(text);
	if (length && text[length - 1] == '.')
		text[length - 1] = '\0'; /* messages of the library are complete sentences */
	fflush(stdout);
	fprintf(stderr, "%s: %s: %s\n", speaker, kind, text);
}

void message_warning(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	put("warning", format, arguments);
	va_end(arguments);
}

void message_note(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	put("note", format, arguments);
	va_end(arguments);
}

void message_error(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	put("error", format, arguments);
	va_end(arguments);
}
