/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.h - a trace out of a string, for tests of the reader.
 */
#ifndef TESTS_OBSERVE_FEED_H
#define TESTS_OBSERVE_FEED_H

#include <mam/trace.h>

struct feed {
	const char *text;
	size_t bytes;
	size_t piece;    /* most bytes given at once */
	size_t fails_at; /* reading fails once so many bytes were given; SIZE_MAX: never */
	size_t given;
	unsigned int calls; /* count */
};

/* feed_open - a reader of `text`, which it gets `piece` bytes at a time. */
struct mam_trace_reader *feed_open(struct feed *feed, const char *text, size_t piece);

/* feed_expect - the next event is this one. */
void feed_expect(struct mam_trace_reader *reader, enum mam_trace_kind kind, uint64_t id,
		 uint64_t bytes, uint64_t stream, uint64_t line);

/* feed_refused - a trace of this one text is refused at this line with this sentence. */
void feed_refused(const char *text, uint64_t line, const char *sentence);

#endif
