/* SPDX-License-Identifier: Apache-2.0 */
/* feed.h - a trace from a string, for tests of the reader. */
#ifndef TESTS_OBSERVE_FEED_H
#define TESTS_OBSERVE_FEED_H

#include <mam/trace.h>

struct feed {
	const char *text;
	size_t bytes;
	size_t piece;    /* maximum of bytes per read */
	size_t fails_at; /* reading fails after this many bytes; SIZE_MAX: never */
	size_t bytes_read;
	unsigned int calls; /* count */
};

/* feed_open - a reader of `text`, which arrives in pieces of `piece` bytes. */
struct mam_trace_reader *feed_open(struct feed *feed, const char *text, size_t piece);

/* feed_expect - the next event must be this one. */
void feed_expect(struct mam_trace_reader *reader, enum mam_trace_kind kind, uint64_t id,
		 uint64_t bytes, uint64_t stream, uint64_t line);

/* feed_refused - this trace must be rejected at this line with this sentence. */
void feed_refused(const char *text, uint64_t line, const char *sentence);

#endif
