/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickle_bytes.c - read the bytes of a pickle in portions.
 *
 * A window slides over them. Data that may exceed it (texts, lines) is assembled in other buffers,
 * which grow with the bytes that arrive and never by a length that the pickle merely announces.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "read/pickle_parts.h"

bool pickle_fail(struct pickle_reader *reader, const char *format, ...)
{
	struct pickle_problem *problem = &reader->pickle->problem;
	va_list arguments;

	problem->byte = reader->opcode_byte;
	va_start(arguments, format);
	vsnprintf(problem->text, sizeof(problem->text), format, arguments);
	va_end(arguments);
	return false;
}

bool pickle_fail_memory(struct pickle_reader *reader)
{
	return pickle_fail(reader, "out of memory");
}

/* Fill the window with at least `bytes` bytes. False: the input ends earlier. */
static bool refill(struct pickle_reader *reader, size_t bytes)
{
	size_t got;

	memmove(reader->window, reader->window + reader->at, reader->end - reader->at);
	reader->before += reader->at;
	reader->end -= reader->at;
	reader->at = 0;
	while (reader->end < bytes) {
		if (reader->read(reader->user, reader->window + reader->end,
				 PICKLE_WINDOW - reader->end, &got) != MAM_OK) {
			pickle_fail(reader, "a read failed");
			reader->pickle->problem.unread = true;
			return false;
		}
		if (got == 0) {
			pickle_fail(reader, "the pickle is truncated");
			reader->pickle->problem.cut = true;
			return false;
		}
		reader->end += got;
	}
	return true;
}

const unsigned char *pickle_take(struct pickle_reader *reader, size_t bytes)
{
	const unsigned char *at;

	if (reader->end - reader->at < bytes && !refill(reader, bytes))
		return NULL;
	at = reader->window + reader->at;
	reader->at += bytes;
	return at;
}

bool pickle_take_chars(struct pickle_reader *reader, uint64_t bytes, bool keep)
{
	struct pickle_array *chars = &reader->pickle->chars;

	if (keep && bytes > PICKLE_TEXT_MAX)
		return pickle_fail(reader, "a text of %llu bytes is too long",
				   (unsigned long long)bytes);
	while (bytes > 0) {
		size_t part;

		if (reader->at == reader->end && !refill(reader, 1))
			return false;
		part = reader->end - reader->at;
		if (part > bytes)
			part = (size_t)bytes;
		if (keep) {
			if (!pickle_more(chars, 1, part))
				return pickle_fail_memory(reader);
			memcpy((char *)chars->at + chars->count, reader->window + reader->at, part);
			chars->count += part;
		}
		reader->at += part;
		bytes -= part;
	}
	return true;
}

bool pickle_take_line(struct pickle_reader *reader)
{
	struct pickle_array *line = &reader->line;
	const unsigned char *end;

	line->count = 0;
	do {
		size_t part;

		if (reader->at == reader->end && !refill(reader, 1))
			return false;
		end = memchr(reader->window + reader->at, '\n', reader->end - reader->at);
		part = end ? (size_t)(end - reader->window) - reader->at : reader->end - reader->at;
		if (line->count + part > PICKLE_LINE_MAX)
			return pickle_fail(reader, "a line is too long");
		if (!pickle_more(line, 1, part + 1))
			return pickle_fail_memory(reader);
		memcpy((char *)line->at + line->count, reader->window + reader->at, part);
		line->count += part;
		reader->at += part + (end != NULL);
	} while (!end);
	((char *)line->at)[line->count] = '\0';
	return true;
}
