/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.c - the reader of allocation traces (<mam/trace.h>).
 *
 * 1. Keep one window of the trace in a fixed buffer, and find the end of the next line in it.
 * 2. If there is none: move the rest to the front, call the callback for more, and search again.
 * 3. Parse the line in one pass: kind, numbers, then key=value fields, which are checked and left
 *    in place.
 * 4. The first error is stored as a sentence, and every later call returns it.
 *
 * Bound: each byte is read at most three times (newline search, NUL search, parsing), and moved at
 * most once. Invariant between calls: start <= end <= BUFFER_BYTES, and [start, end) are the bytes
 * that were read but not yet returned.
 */
#include <mam/trace.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sized.h"

#define BUFFER_BYTES ((size_t)64 << 10) /* many lines, so that the rest is rarely moved */

enum reader_state {
	READER_READING, /* the callback may have more */
	READER_DRAINED, /* the callback returned the end: the buffer has the last bytes */
	READER_BROKEN,  /* the callback failed: complete lines in the buffer are still valid */
	READER_FAILED   /* every call returns `problem` from now on */
};

struct mam_trace_reader {
	enum mam_status (*read)(void *user, void *buffer, size_t bytes, size_t *got);
	void *user; /* lock: none, set at init, as `read` */
	enum reader_state state;
	enum mam_status status; /* the result in READER_FAILED */
	uint64_t line;          /* lines taken so far, count */
	size_t start;           /* offset of the first byte not yet returned */
	size_t end;             /* offset of the end of the bytes read */
	struct mam_trace_problem problem;
	char buffer[BUFFER_BYTES];
};

/* A position in one line: [at, end) is the rest of the line. */
struct cursor {
	const char *at;
	const char *end;
};

enum mam_status mam_trace_reader_create(enum mam_status (*read)(void *user, void *buffer,
								size_t bytes, size_t *got),
					void *user, struct mam_trace_reader **reader)
{
	struct mam_trace_reader *made;

	if (!read || !reader)
		return MAM_ERROR_INVALID_VALUE;
	made = malloc(sizeof(*made));
	if (!made)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	made->read = read;
	made->user = user;
	made->state = READER_READING;
	made->status = MAM_OK;
	made->line = 0;
	made->start = 0;
	made->end = 0;
	made->problem = (struct mam_trace_problem){ .size = sizeof(made->problem) };
	*reader = made;
	return MAM_OK;
}

void mam_trace_reader_destroy(struct mam_trace_reader *reader)
{
	free(reader);
}

const struct mam_trace_problem *mam_trace_problem_of(const struct mam_trace_reader *reader)
{
	return reader && reader->state == READER_FAILED ? &reader->problem : NULL;
}

/* Store the error in line `reader->line`. */
__attribute__((format(printf, 3, 4))) static enum mam_status
fail(struct mam_trace_reader *reader, enum mam_status status, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reader->problem.text, sizeof(reader->problem.text), format, arguments);
	va_end(arguments);
	reader->problem.line = reader->line;
	/* A last line without a newline: the writer of the trace was stopped in the middle. */
	reader->problem.cut = status == MAM_ERROR_IO ||
			      (reader->state == READER_DRAINED && reader->start == reader->end);
	reader->state = READER_FAILED;
	reader->status = status;
	return status;
}

/* A word of the trace for messages: quoted, printable, truncated if too long. */
struct shown {
	char text[64];
};

static struct shown show(struct cursor word)
{
	struct shown shown;
	size_t used = 0;

	shown.text[used++] = '\'';
	for (; word.at < word.end; word.at++) {
		unsigned char byte = (unsigned char)*word.at;

		if (used > sizeof(shown.text) - 10) {
			memcpy(&shown.text[used], "...", 3);
			used += 3;
			break;
		}
		if (byte >= 0x20 && byte < 0x7f)
			shown.text[used++] = (char)byte;
		else
			used += (size_t)snprintf(&shown.text[used], 5, "\\x%02x", byte);
	}
	shown.text[used++] = '\'';
	shown.text[used] = '\0';
	return shown;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void skip_blanks(struct cursor *line)
{
	while (line->at < line->end && is_blank(*line->at))
		line->at++;
}

/* The next word of a line; empty at its end. */
static struct cursor take_word(struct cursor *line)
{
	struct cursor word;

	skip_blanks(line);
	word.at = line->at;
	while (line->at < line->end && !is_blank(*line->at))
		line->at++;
	word.end = line->at;
	return word;
}

static enum mam_status bad_number(struct mam_trace_reader *reader, struct cursor word,
				  const char *name)
{
	const char *digit = word.at;

	if (word.at == word.end)
		return fail(reader, MAM_ERROR_INVALID_VALUE, "the %s is missing", name);
	if (*digit == '-')
		digit++;
	while (digit < word.end && *digit >= '0' && *digit <= '9')
		digit++;
	if (digit < word.end || digit - word.at < 1 || digit[-1] == '-')
		return fail(reader, MAM_ERROR_INVALID_VALUE, "the %s %s is not a decimal number",
			    name, show(word).text);
	if (*word.at == '-')
		return fail(reader, MAM_ERROR_INVALID_VALUE, "the %s %s is negative", name,
			    show(word).text);
	return fail(reader, MAM_ERROR_INVALID_VALUE, "the %s %s does not fit in 64 bits", name,
		    show(word).text);
}

static enum mam_status take_number(struct mam_trace_reader *reader, struct cursor *line,
				   const char *name, uint64_t *number)
{
	struct cursor word = take_word(line);
	uint64_t value = 0;

	if (word.at == word.end)
		return bad_number(reader, word, name);
	for (const char *c = word.at; c < word.end; c++) {
		unsigned int digit = (unsigned int)(unsigned char)*c - '0';

		if (digit > 9 || value > (UINT64_MAX - digit) / 10)
			return bad_number(reader, word, name);
		value = value * 10 + digit;
	}
	*number = value;
	return MAM_OK;
}

static bool is_key_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.' || c == '-';
}

/* Whether the word is key=value: at least one key byte, then printable bytes, ASCII or above. */
static bool is_field(struct cursor word)
{
	const char *c = word.at;

	while (c < word.end && is_key_byte(*c))
		c++;
	if (c == word.at || c == word.end || *c != '=')
		return false;
	for (; c < word.end; c++)
		if ((unsigned char)*c < 0x20 || (unsigned char)*c == 0x7f)
			return false;
	return true;
}

/* Check the fields that follow the fixed ones, and leave them in the buffer. */
static enum mam_status take_fields(struct mam_trace_reader *reader, struct cursor *line,
				   struct mam_trace_event *event)
{
	skip_blanks(line);
	event->fields = line->at;
	event->fields_bytes = (size_t)(line->end - line->at);
	while (line->at < line->end) {
		struct cursor word = take_word(line);

		if (word.at < word.end && !is_field(word))
			return fail(reader, MAM_ERROR_INVALID_VALUE,
				    "expected key=value after the numbers, found %s",
				    show(word).text);
	}
	return MAM_OK;
}

/* Read one line that is neither blank nor a comment. */
static enum mam_status parse(struct mam_trace_reader *reader, struct cursor line,
			     struct mam_trace_event *event)
{
	struct mam_trace_event read = { .line = reader->line };
	struct cursor word = take_word(&line);
	enum mam_status status;

	if (word.end - word.at != 1 || (*word.at != 'a' && *word.at != 'f'))
		return fail(reader, MAM_ERROR_INVALID_VALUE,
			    "expected 'a ID BYTES STREAM', 'f ID' or '#', found %s",
			    show(word).text);
	read.kind = *word.at == 'a' ? MAM_TRACE_ALLOC : MAM_TRACE_FREE;
	status = take_number(reader, &line, "id", &read.id);
	if (!status && read.kind == MAM_TRACE_ALLOC)
		status = take_number(reader, &line, "number of bytes", &read.bytes);
	if (!status && read.kind == MAM_TRACE_ALLOC)
		status = take_number(reader, &line, "stream", &read.stream);
	if (!status)
		status = take_fields(reader, &line, &read);
	if (!status)
		mam_sized_write(event, &read, sizeof(read));
	return status;
}

/* Make room after the kept bytes and read into it. pre: they are less than a line. */
static void refill(struct mam_trace_reader *reader)
{
	size_t kept = reader->end - reader->start;
	size_t got = 0;

	memmove(reader->buffer, reader->buffer + reader->start, kept);
	reader->start = 0;
	reader->end = kept;
	if (reader->read(reader->user, reader->buffer + kept, BUFFER_BYTES - kept, &got))
		reader->state = READER_BROKEN;
	else if (got == 0 || got > BUFFER_BYTES - kept)
		reader->state = READER_DRAINED;
	else
		reader->end += got;
}

/* The next line without its newline. At the end of the trace *found is false. */
static enum mam_status take_line(struct mam_trace_reader *reader, struct cursor *line, bool *found)
{
	char *newline, *start;

	*found = false;
	for (;;) {
		size_t held = reader->end - reader->start;

		start = reader->buffer + reader->start;
		newline = memchr(start, '\n', held);
		if (newline || held >= MAM_TRACE_LINE_BYTES || reader->state != READER_READING)
			break;
		refill(reader);
	}
	if (!newline && reader->state == READER_BROKEN &&
	    reader->end - reader->start < MAM_TRACE_LINE_BYTES)
		return fail(reader, MAM_ERROR_IO, "the trace is truncated after this line");
	if (!newline && reader->start == reader->end)
		return MAM_OK;
	line->at = start;
	line->end = newline ? newline : reader->buffer + reader->end;
	reader->start = (size_t)(line->end - reader->buffer) + (newline ? 1 : 0);
	reader->line++;
	if (line->end - line->at >= MAM_TRACE_LINE_BYTES)
		return fail(reader, MAM_ERROR_INVALID_VALUE, "the line is longer than %d bytes",
			    MAM_TRACE_LINE_BYTES - 1);
	if (memchr(line->at, '\0', (size_t)(line->end - line->at)))
		return fail(reader, MAM_ERROR_INVALID_VALUE,
			    "the line contains a zero byte: not a text file");
	if (line->end > line->at && line->end[-1] == '\r')
		line->end--; /* written on Windows */
	*found = true;
	return MAM_OK;
}

enum mam_status mam_trace_next(struct mam_trace_reader *reader, struct mam_trace_event *event)
{
	static const struct mam_trace_event end = { .kind = MAM_TRACE_END };
	struct cursor line;
	enum mam_status status;
	bool found;

	if (!reader || !mam_sized_can_hold(event, sizeof(*event)))
		return MAM_ERROR_INVALID_VALUE;
	if (reader->state == READER_FAILED)
		return reader->status;
	do {
		status = take_line(reader, &line, &found);
		if (status)
			return status;
		if (!found) {
			mam_sized_write(event, &end, sizeof(end));
			return MAM_OK;
		}
		skip_blanks(&line);
	} while (line.at == line.end || *line.at == '#');
	return parse(reader, line, event);
}

bool mam_trace_field(const struct mam_trace_event *event, const char *key, const char **value,
		     size_t *bytes)
{
	struct cursor line = { event->fields,
			       event->fields ? event->fields + event->fields_bytes : NULL };
	size_t length = strlen(key);

	while (line.at < line.end) {
		struct cursor word = take_word(&line);

		if ((size_t)(word.end - word.at) <= length || word.at[length] != '=' ||
		    memcmp(word.at, key, length) != 0)
			continue;
		*value = word.at + length + 1;
		*bytes = (size_t)(word.end - *value);
		return true;
	}
	return false;
}
