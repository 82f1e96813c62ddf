/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_mam.c - read a trace as in mam-trace(5), plain or gzip; mam/trace.h checks its syntax.
 *
 * It uses the fields t, thread, device, stream, tag and who. If an event has neither of the last two,
 * its origin is "driver" if the driver served the allocation.
 */
#include "read/read.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <mam/trace.h>

#include "kit/format.h"
#include "kit/message.h"
#include "kit/percent.h"
#include "kit/progress.h"

#define PROGRESS_STEP 65536

/* Parse a field that is a number; false: absent or not a number. */
static bool read_number(const struct mam_trace_event *event, const char *key, uint64_t *number)
{
	const char *text;
	size_t bytes;
	uint64_t sum = 0;

	if (!mam_trace_field(event, key, &text, &bytes) || bytes == 0)
		return false;
	for (size_t i = 0; i < bytes; i++) {
		uint64_t digit = (uint64_t)(unsigned char)text[i] - '0';

		if (digit > 9 || sum > (UINT64_MAX - digit) / 10)
			return false;
		sum = 10 * sum + digit;
	}
	*number = sum;
	return true;
}

/* The tags, the call site, or both: "TAGS, WHO"; otherwise "driver". `room` holds a line. */
static void read_who(const struct mam_trace_event *event, char *room, struct replay_told *told)
{
	const char *text;
	size_t bytes, length = 0;

	if (mam_trace_field(event, "tag", &text, &bytes))
		length = percent_decode(text, bytes, room);
	if (mam_trace_field(event, "who", &text, &bytes)) {
		if (length != 0) {
			room[length++] = ',';
			room[length++] = ' ';
		}
		length += percent_decode(text, bytes, room + length);
	} else if (length == 0 && mam_trace_field(event, "by", &text, &bytes)) {
		length = percent_decode(text, bytes, room);
	}
	told->who = room;
	told->who_bytes = length;
}

static bool pass_on(struct replay_build *build, const struct mam_trace_event *event)
{
	char room[MAM_TRACE_LINE_BYTES];
	struct replay_told told = {
		.id = event->id,
		.bytes = event->bytes,
		.stream = event->stream,
		.place = event->line,
	};

	if (event->fields_bytes)
		told.has_time = read_number(event, "t", &told.time);
	if (event->kind == MAM_TRACE_FREE) {
		if (event->fields_bytes)
			told.has_stream = read_number(event, "stream", &told.stream);
		return replay_build_free(build, &told);
	}
	if (event->fields_bytes) {
		told.has_thread = read_number(event, "thread", &told.thread);
		told.has_device = read_number(event, "device", &told.device);
		read_who(event, room, &told);
	}
	return replay_build_alloc(build, &told);
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
static bool take_problem(const struct replay_trace *trace, const struct input *input,
			 const struct mam_trace_problem *problem, bool salvage)
{
	const char *trouble = input_trouble(input);
	char where[300], last[120];

	snprintf(where, sizeof(where), "%sline %" PRIu64 ": %s", trouble ? "after " : "",
		 problem->line, trouble ? trouble : problem->text);
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

static bool read_events(struct mam_trace_reader *reader, struct input *input,
			struct replay_build *build, bool salvage)
{
	struct mam_trace_event event = { .size = sizeof(event) };
	uint64_t taken, in_all;

	while (mam_trace_next(reader, &event) == MAM_OK) {
		if (event.kind == MAM_TRACE_END)
			return true;
		if (!pass_on(build, &event))
			return false;
		if (build->trace->event_count % PROGRESS_STEP == 0) {
			input_position(input, &taken, &in_all);
			progress_show("reading", taken, in_all);
		}
	}
	progress_end();
	return take_problem(build->trace, input, mam_trace_problem_of(reader), salvage);
}

bool read_mam(struct input *input, struct replay_build *build, bool salvage)
{
	struct mam_trace_reader *reader;
	bool good;

	if (mam_trace_reader_create(input_read, input, &reader) != MAM_OK) {
		message_error("%s: out of memory", build->trace->path);
		return false;
	}
	good = read_events(reader, input, build, salvage);
	mam_trace_reader_destroy(reader);
	return good;
}
