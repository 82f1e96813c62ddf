/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.h - read an allocation trace, version 1 (mam-trace.5), one event at a time.
 *
 * A trace is lines of text: "a ID BYTES STREAM" allocates, "f ID" frees, "#" begins a comment. The
 * reader gets bytes from a callback, so the trace may come from a file, a decompressor or a test.
 * It has one buffer and never holds more than one line of the trace; an event needs no host
 * malloc().
 *
 * The reader checks one line at a time. The caller must track which ids are live.
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
	MAM_TRACE_END = 0,   /* no more events; the other fields are undefined */
	MAM_TRACE_ALLOC = 1, /* a ID BYTES STREAM */
	MAM_TRACE_FREE = 2   /* f ID */
};

struct mam_trace_event {
	size_t size; /* in: sizeof(struct mam_trace_event) */
	enum mam_trace_kind kind;
	uint64_t id;         /* identifies a block until its free; may be reused afterwards */
	uint64_t bytes;      /* ALLOC: the requested size, 0 allowed */
	uint64_t stream;     /* ALLOC: the stream of the request */
	uint64_t line;       /* line number, counted from 1 */
	const char *fields;  /* key=value text of the line, not terminated; until the next call */
	size_t fields_bytes; /* its length; 0: none */
};

/* An error in a trace. */
struct mam_trace_problem {
	size_t size;    /* sizeof(struct mam_trace_problem), of the library */
	uint64_t line;  /* the invalid line; of a failed read, the last complete one */
	bool cut;       /* the trace is truncated here: every event before it is complete */
	char text[200]; /* one sentence, no full stop; always printable ASCII */
};

struct mam_trace_reader;

/*
 * mam_trace_reader_create - create a reader of the bytes that `read` provides.
 *
 * `read` puts the next bytes of the trace, at most `bytes` of them, into `buffer` and their number
 * into *got, 0 at the end. An error (not MAM_OK) ends the trace; *got is then ignored. Errors:
 * INVALID_VALUE (a NULL argument; `user` may be NULL), OUT_OF_HOST_MEMORY.
 */
MAM_API enum mam_status mam_trace_reader_create(enum mam_status (*read)(void *user, void *buffer,
									size_t bytes, size_t *got),
						void *user, struct mam_trace_reader **reader);

/* mam_trace_reader_destroy - free a reader. NULL: a no-op. */
MAM_API void mam_trace_reader_destroy(struct mam_trace_reader *reader);

/*
 * mam_trace_next - read the next event, or MAM_TRACE_END. Set event->size first.
 *
 * Errors: INVALID_VALUE (an invalid line; a size too small to hold itself), IO (the callback
 * failed, and all complete lines before were returned). After an error, and after the end, every
 * call returns the same again.
 */
MAM_API enum mam_status mam_trace_next(struct mam_trace_reader *reader,
				       struct mam_trace_event *event);

/*
 * mam_trace_problem_of - why mam_trace_next() failed, valid as long as the reader; otherwise NULL.
 */
MAM_API const struct mam_trace_problem *mam_trace_problem_of(const struct mam_trace_reader *reader);

/*
 * mam_trace_field - find one key=value field of an event; false: absent. `value` is not terminated.
 */
MAM_API bool mam_trace_field(const struct mam_trace_event *event, const char *key,
			     const char **value, size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
