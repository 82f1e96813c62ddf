/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a trace: the reader must terminate, and what it returns must be consistent.
 *
 * The first byte selects the pieces in which the rest arrives, and whether reading fails at the
 * end.
 */
#include <mam/trace.h>

#include "fuzz.h"

struct bytes {
	const uint8_t *at;
	size_t left;
	size_t piece;
	bool fails;
};

static enum mam_status give(void *user, void *buffer, size_t room, size_t *got)
{
	struct bytes *bytes = user;
	size_t piece = bytes->piece < room ? bytes->piece : room;

	if (piece > bytes->left)
		piece = bytes->left;
	if (piece == 0 && bytes->fails)
		return MAM_ERROR_IO;
	memcpy(buffer, bytes->at, piece);
	bytes->at += piece;
	bytes->left -= piece;
	*got = piece;
	return MAM_OK;
}

static void check_event(const struct mam_trace_event *event, uint64_t last_line)
{
	const char *value;
	size_t length;

	require(event->kind == MAM_TRACE_ALLOC || event->kind == MAM_TRACE_FREE, "a third kind");
	require(event->line > last_line, "line numbers do not increase");
	require(event->kind == MAM_TRACE_ALLOC || (event->bytes == 0 && event->stream == 0),
		"a free with a size");
	require(event->fields_bytes < MAM_TRACE_LINE_BYTES, "fields longer than a line");
	require(!memchr(event->fields, '\n', event->fields_bytes), "fields span two lines");
	if (mam_trace_field(event, "who", &value, &length))
		require(value >= event->fields &&
				value + length <= event->fields + event->fields_bytes,
			"a value outside its line");
}

static void check_problem(const struct mam_trace_problem *problem, uint64_t last_line)
{
	require(problem != NULL, "a read error without a problem");
	require(problem->line >= last_line, "a problem before the last event");
	require(problem->text[0] && memchr(problem->text, '\0', sizeof(problem->text)),
		"a problem without a message");
	for (const char *c = problem->text; *c; c++)
		require(*c >= 0x20 && *c < 0x7f, "a message that is not printable");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct bytes rest = { data + 1, bytes - 1, 1, false };
	struct mam_trace_event event = { .size = sizeof(event) };
	struct mam_trace_reader *reader;
	enum mam_status status;
	uint64_t last_line = 0;

	if (bytes == 0)
		return 0;
	rest.piece = (size_t)1 << (data[0] & 15);
	rest.fails = data[0] & 16;
	if (mam_trace_reader_create(give, &rest, &reader))
		return 0;
	while ((status = mam_trace_next(reader, &event)) == MAM_OK && event.kind != MAM_TRACE_END) {
		check_event(&event, last_line);
		last_line = event.line;
	}
	if (status)
		check_problem(mam_trace_problem_of(reader), last_line);
	require(mam_trace_next(reader, &event) == status, "a different result after the end");
	mam_trace_reader_destroy(reader);
	return 0;
}
