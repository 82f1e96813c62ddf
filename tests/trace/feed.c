/* SPDX-License-Identifier: Apache-2.0 */
/* feed.c - a trace from a string, for tests of the reader. */
#include "trace/feed.h"

#include <check.h>
#include <string.h>

static enum mam_status read_text(void *user, void *buffer, size_t bytes, size_t *got)
{
	struct feed *feed = user;
	size_t piece = feed->bytes - feed->bytes_read;

	feed->calls++;
	if (feed->bytes_read >= feed->fails_at)
		return MAM_ERROR_IO;
	if (piece > feed->piece)
		piece = feed->piece;
	if (piece > bytes)
		piece = bytes;
	if (piece > feed->fails_at - feed->bytes_read)
		piece = feed->fails_at - feed->bytes_read;
	memcpy(buffer, feed->text + feed->bytes_read, piece);
	feed->bytes_read += piece;
	*got = piece;
	return MAM_OK;
}

struct mam_trace_reader *feed_open(struct feed *feed, const char *text, size_t piece)
{
	struct mam_trace_reader *reader = NULL;

	*feed = (struct feed){ text, strlen(text), piece, SIZE_MAX, 0, 0 };
	ck_assert_int_eq(mam_trace_reader_create(read_text, feed, &reader), MAM_OK);
	return reader;
}

void feed_expect(struct mam_trace_reader *reader, enum mam_trace_kind kind, uint64_t id,
		 uint64_t bytes, uint64_t stream, uint64_t line)
{
	struct mam_trace_event event = { .size = sizeof(event) };

	ck_assert_int_eq(mam_trace_next(reader, &event), MAM_OK);
	ck_assert_int_eq(event.kind, kind);
	ck_assert_uint_eq(event.id, id);
	ck_assert_uint_eq(event.bytes, bytes);
	ck_assert_uint_eq(event.stream, stream);
	ck_assert_uint_eq(event.line, line);
}

void feed_refused(const char *text, uint64_t line, const char *sentence)
{
	struct feed feed;
	struct mam_trace_reader *reader = feed_open(&feed, text, SIZE_MAX);
	struct mam_trace_event event = { .size = sizeof(event), .kind = MAM_TRACE_ALLOC };
	enum mam_status status;

	do
		status = mam_trace_next(reader, &event);
	while (!status && event.kind != MAM_TRACE_END);
	ck_assert_int_eq(status, MAM_ERROR_INVALID_VALUE);
	ck_assert_ptr_nonnull(mam_trace_problem_of(reader));
	ck_assert_str_eq(mam_trace_problem_of(reader)->text, sentence);
	ck_assert_uint_eq(mam_trace_problem_of(reader)->line, line);
	mam_trace_reader_destroy(reader);
}
