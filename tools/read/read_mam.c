/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_mam.c - read a trace as in mam-trace(5), plain or gzip.
 *
 * 1. Take line after line from a buffer. A thread decompresses ahead (input_go_ahead()).
 * 2. Comments go to the sink of a profile, which has its frames in them; a trace needs none.
 * 3. A line of the usual form is parsed here (read_mam_line.c). The library's reader gets all others
 *    one by one: its callback returns the line. It has the rules and the messages.
 */
#include "read/read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mam/trace.h>

#include "kit/format.h"
#include "kit/message.h"
#include "kit/progress.h"
#include "read/read_mam_line.h"

#define PROGRESS_STEP 65536
#define BUFFER_BYTES ((size_t)256 << 10)

struct lines {
	struct input *input;
	struct replay_build *build;
	struct mam_trace_reader *reader;
	uint64_t number; /* of the line from `at` to `end` */
	uint64_t slow;   /* lines that the reader got */
	const char *at, *end;
	bool has_newline;    /* at `end`; otherwise it is the last line */
	bool given;          /* the reader has this line */
	bool ended, broken;  /* the input has no more bytes; it failed */
	size_t start, bytes; /* of the buffer: lines not yet taken */
	struct read_mam_line line;
	char buffer[BUFFER_BYTES];
};

/* The callback of the reader: one line. */
static enum mam_status give_line(void *user, void *buffer, size_t room, size_t *got)
{
	struct lines *lines = user;
	size_t bytes = (size_t)(lines->end - lines->at) + lines->has_newline;

	(void)room;
	if (lines->given)
		bytes = 0;
	if (bytes > MAM_TRACE_LINE_BYTES)
		bytes = MAM_TRACE_LINE_BYTES; /* too long: the rest does not matter */
	memcpy(buffer, lines->at, bytes);
	lines->given = true;
	*got = bytes;
	return MAM_OK;
}

static void refill(struct lines *lines)
{
	size_t kept = lines->bytes - lines->start, got = 0;

	memmove(lines->buffer, lines->buffer + lines->start, kept);
	lines->start = 0;
	if (input_read(lines->input, lines->buffer + kept, BUFFER_BYTES - kept, &got) != MAM_OK) {
		lines->broken = true;
		got = 0;
	}
	lines->ended = got == 0;
	lines->bytes = kept + got;
}

/* Take the next line. False: there is none, or the input failed before its end. */
static bool next_line(struct lines *lines)
{
	const char *newline;

	for (;;) {
		size_t held = lines->bytes - lines->start;

		lines->at = lines->buffer + lines->start;
		newline = memchr(lines->at, '\n', held);
		if (newline || lines->ended || held >= MAM_TRACE_LINE_BYTES)
			break;
		refill(lines);
	}
	lines->end = newline ? newline : lines->buffer + lines->bytes;
	if (!newline && (lines->at == lines->end ||
			 (lines->broken && lines->end - lines->at < MAM_TRACE_LINE_BYTES)))
		return false;
	lines->has_newline = newline != NULL;
	lines->start = (size_t)(lines->end - lines->buffer) + lines->has_newline;
	lines->number++;
	return true;
}

/* The text of a line without the blanks before it and the carriage return after it. */
static size_t text_of(const struct lines *lines, const char **text)
{
	const char *at = lines->at, *end = lines->end;

	if (end > at && end[-1] == '\r')
		end--;
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	*text = at;
	return (size_t)(end - at);
}

/* Parse the line with the library. False: it is invalid. */
static bool parse_slowly(struct lines *lines)
{
	struct mam_trace_event event = { .size = sizeof(event) };

	lines->given = false;
	lines->slow++;
	if (mam_trace_next(lines->reader, &event) != MAM_OK)
		return false;
	read_mam_line_event(&lines->line, &event);
	return true;
}

enum taken { TAKEN, FAILED, INVALID };

static enum taken take_line(struct lines *lines)
{
	const struct replay_sink *sink = lines->build->sink;
	struct replay_told *told = &lines->line.told;
	const char *text;
	size_t bytes;

	if (!lines->has_newline || !read_mam_line_fast(&lines->line, lines->at, lines->end)) {
		bytes = text_of(lines, &text);
		if (bytes == 0)
			return TAKEN;
		if (*text == '#' && lines->end - lines->at < MAM_TRACE_LINE_BYTES &&
		    !memchr(text, '\0', bytes))
			return !sink || sink->comment(sink->user, text, bytes) ? TAKEN : FAILED;
		if (!parse_slowly(lines))
			return INVALID;
	}
	told->place = lines->number;
	if (!sink && told->tag_bytes != 0)
		read_mam_line_name(&lines->line);
	return (lines->line.frees ? replay_build_free(lines->build, told)
				  : replay_build_alloc(lines->build, told))
		       ? TAKEN
		       : FAILED;
}

/* Describe the last event as in the file, or print that there is none. */
static void describe_last(const struct replay_trace *trace, char *text, size_t bytes)
{
	uint32_t last = trace->event_count - 1;
	const struct replay_block *block;

	if (trace->event_count == 0) {
		snprintf(text, bytes, "no event is complete");
		return;
	}
	block = &trace->blocks[trace->events[last] >> 1];
	if (trace->events[last] & 1)
		snprintf(text, bytes, "the last complete event is 'f %" PRIu64 "' on line %" PRIu32,
			 block->id, trace->lines[last]);
	else
		snprintf(text, bytes,
			 "the last complete event is 'a %" PRIu64 " %" PRIu64 " %" PRIu64
			 "' on line %" PRIu32,
			 block->id, block->bytes, block->stream, trace->lines[last]);
}

/* Report why the trace is incomplete or invalid. True: continue with the events so far. */
static bool take_problem(const struct replay_build *build, const struct input *input,
			 const struct mam_trace_problem *problem, bool salvage)
{
	const struct replay_trace *trace = build->trace;
	const char *trouble = input_trouble(input);
	char where[300], last[120];

	snprintf(where, sizeof(where), "%sline %" PRIu64 ": %s", trouble ? "after " : "",
		 problem->line, trouble ? trouble : problem->text);
	if (problem->cut && build->sink) {
		message_warning("%s: %s, and the rest is lost", trace->path, where);
		return true;
	}
	describe_last(trace, last, sizeof(last));
	if (!problem->cut)
		message_error("%s: %s", trace->path, where);
	else if (salvage)
		message_warning("%s: %s, and the rest is lost; %s; events played: %s", trace->path,
				where, last, format_count(trace->event_count).text);
	else
		message_error("%s: %s; %s; use --salvage to play the complete events", trace->path,
			      where, last);
	return problem->cut && salvage;
}

/* The error of the library's reader, in lines of the file, or that of the input. */
static struct mam_trace_problem problem_of(const struct lines *lines, bool invalid)
{
	struct mam_trace_problem problem = { .line = lines->number, .cut = true };

	if (!invalid)
		return problem;
	problem = *mam_trace_problem_of(lines->reader);
	problem.line += lines->number - lines->slow;
	return problem;
}

static bool read_lines(struct lines *lines, bool salvage)
{
	struct mam_trace_problem problem;
	enum taken taken = TAKEN;
	uint64_t position, in_all;

	while (taken == TAKEN && next_line(lines)) {
		taken = take_line(lines);
		if (lines->number % PROGRESS_STEP == 0) {
			input_position(lines->input, &position, &in_all);
			progress_show("reading", position, in_all);
		}
	}
	if (taken == FAILED)
		return false;
	if (taken == TAKEN && !lines->broken)
		return true;
	progress_end();
	problem = problem_of(lines, taken == INVALID);
	return take_problem(lines->build, lines->input, &problem, salvage);
}

bool read_mam(struct input *input, struct replay_build *build, bool salvage)
{
	struct lines *lines = malloc(sizeof(*lines));
	bool good;

	if (!lines || mam_trace_reader_create(give_line, lines, &lines->reader) != MAM_OK) {
		message_error("%s: out of memory", build->trace->path);
		free(lines);
		return false;
	}
	input_go_ahead(input);
	lines->input = input;
	lines->build = build;
	lines->number = lines->slow = 0;
	lines->ended = lines->broken = false;
	lines->start = lines->bytes = 0;
	good = read_lines(lines, salvage);
	mam_trace_reader_destroy(lines->reader);
	free(lines);
	return good;
}
