/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.h - read an allocation trace, version 1 (mam-trace.5), one event at a time.
 *
 * A trace is lines of text: "a ID BYTES STREAM" allocates, "f ID" frees, "#" opens a comment. The
 * reader takes bytes from a callback, so the trace may come from a file, a decompressor or a test.
 * It holds one buffer and never more than one line of the trace; an event costs no system malloc.
 *
 * The reader judges one line at a time. Whether an id is alive is for the caller to know.
 *
 * A reader belongs to one thread at a time.
 */
#ifndef MAM_TRACE_H
#define MAM_TRACE_H

#include <mam/mam.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MAM_TRACE_LINE_BYTES 4096 /* longest line, its newline included */

enum mam_trace_kind {
	MAM_TRACE_END = 0,   /* no more events; the other fields mean nothing */
	MAM_TRACE_ALLOC = 1, /* a ID BYTES STREAM */
	MAM_TRACE_FREE = 2   /* f ID */
};

struct mam_trace_event {
	size_t size; /* in: sizeof(struct mam_trace_event) */
	enum mam_trace_kind kind;
	uint64_t id;         /* names a block until its free, and perhaps another one later */
	uint64_t bytes;      /* ALLOC: what was asked for, 0 allowed */
	uint64_t stream;     /* ALLOC: the stream it was asked for */
	uint64_t line;       /* where it stands, counted from 1 */
	const char *fields;  /* key=value text as it stands, not terminated; until the next call */
	size_t fields_bytes; /* its length; 0: none */
};

/* What was wrong with a trace. */
struct mam_trace_problem {
	size_t size;    /* sizeof(struct mam_trace_problem), of the library */
	uint64_t line;  /* the wrong line; of a failed read, the last one that came whole */
	bool cut;       /* the trace broke off here: every event before it is whole */
	char text[200]; /* one sentence, no full stop; printable ASCII in any case */
};

struct mam_trace_reader;

/*
 * mam_trace_reader_create - a reader of what `read` gives.
 *
 * `read` puts the next bytes of the trace, at most `bytes` of them, into `buffer` and their number
 * into *got, 0 at the end. An error (not MAM_OK) ends the trace; *got is then not looked at.
 * Errors: INVALID_VALUE (a NULL argument; `user` may be NULL), OUT_OF_HOST_MEMORY.
 */
MAM_API enum mam_status mam_trace_reader_create(enum mam_status (*read)(void *user, void *buffer,
									size_t bytes, size_t *got),
						void *user, struct mam_trace_reader **reader);

/* mam_trace_reader_destroy - NULL: nothing. */
MAM_API void mam_trace_reader_destroy(struct mam_trace_reader *reader);

/*
 * mam_trace_next - the next event, or MAM_TRACE_END. Set event->size first.
 *
 * Errors: INVALID_VALUE (a line that is no event; a size too small to hold itself), IO (the callback failed, and all whole lines
 * before were given out). After an error, and after the end, every call answers the same again.
 */
MAM_API enum mam_status mam_trace_next(struct mam_trace_reader *reader,
				       struct mam_trace_event *event);

/* mam_trace_problem_of - why mam_trace_next() failed, as long as the reader lives; else NULL. */
MAM_API const struct mam_trace_problem *mam_trace_problem_of(const struct mam_trace_reader *reader);

/* mam_trace_field - one key=value field of an event; false: none. `value` is not terminated. */
MAM_API bool mam_trace_field(const struct mam_trace_event *event, const char *key,
			     const char **value, size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
