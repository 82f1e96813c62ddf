/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_ring.h - the part of a trace that is still in a process's memory: FILE.ring, which `mam run
 * --trace FILE` keeps next to FILE while the program runs. The interposer writes it, and the
 * command reads it after the program was killed; not installed.
 *
 *   page 0     struct mam_trace_ring, the rest zero
 *   then       `capacity` records of 64 bytes, a power of two
 *   then       `text_bytes` bytes with the lines of the records of kind TEXT
 *
 * Record i, counted from 0, is in slot i modulo capacity, and is complete when its `number` is i +
 * 1: the number is written last, so an incomplete record is recognized. Each record is one line of
 * FILE, in the same order, after `lines` lines of heading: the number of lines in FILE shows which
 * records are missing. A slot is reused only after its line was written to FILE.
 *
 * Byte order and sizes are those of the machine; `magic` identifies them.
 */
#ifndef MAM_TRACE_RING_H
#define MAM_TRACE_RING_H

#include <mam/mam.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MAM_TRACE_RING_MAGIC 0x31676e69726d616du /* "mamring1" */
#define MAM_TRACE_RING_HEAD 4096                 /* bytes before the first record */
#define MAM_TRACE_RING_LINE 192                  /* longest line, its newline included */
#define MAM_TRACE_RING_TEXT 4096                 /* the same of a record of kind TEXT */
#define MAM_TRACE_RING_MAX ((uint64_t)1 << 20)   /* records, of a ring that is accepted */

struct mam_trace_ring {
	uint64_t magic;
	uint64_t capacity; /* records */
	uint64_t token;    /* FILE's first line has "ring=" and this number, sixteen hex digits */
	uint64_t lines;    /* of heading in FILE */
	uint64_t pid;      /* process id of the writer */
	uint64_t start;    /* and its start time, as the system counts it */
	uint64_t text_bytes;
};

enum mam_trace_record_kind {
	MAM_TRACE_RECORD_ALLOC = 1,
	MAM_TRACE_RECORD_FREE = 2,
	MAM_TRACE_RECORD_LOST = 3, /* `bytes` events could not be written */
	MAM_TRACE_RECORD_TEXT = 4  /* a comment of `bytes` bytes, at `id` in the text */
};

enum mam_trace_record_flag {
	MAM_TRACE_RECORD_DRIVER = 1,  /* a block of the driver, not of a pool */
	MAM_TRACE_RECORD_IMPLIED = 2, /* freed with its context, or by an unseen call */
	MAM_TRACE_RECORD_STACK = 4    /* `who` is the number of the call stack, 0: unknown */
};

/* The upper byte of a record's flags: the device's number + 1; 0: unknown. */
#define MAM_TRACE_RECORD_DEVICE_SHIFT 8
#define MAM_TRACE_RECORD_DEVICE_MAX 254

struct mam_trace_record {
	uint64_t number; /* i + 1; any other value: incomplete */
	uint64_t ns;     /* since the trace began */
	union {
		uint64_t id;  /* FREE: of the block; ALLOC: number - 1 */
		uint64_t tag; /* ALLOC: private to the writer; 0: none */
	};
	uint64_t bytes;
	uint64_t stream;
	uint64_t context; /* 0: unknown */
	uint64_t who;     /* without the flag STACK: private to the writer */
	uint32_t thread;
	uint16_t kind;
	uint16_t flags;
};

/* Whether the heading is valid for a ring of `bytes` bytes. */
bool mam_trace_ring_is_sound(const struct mam_trace_ring *ring, uint64_t bytes);

/*
 * Formats the line of a record, newline included and not terminated. Returns its length, at most
 * MAM_TRACE_RING_LINE; 0: unknown kind, or TEXT.
 */
size_t mam_trace_record_print(const struct mam_trace_record *record, char *line);

/*
 * Returns the line of a record of kind TEXT and its length, at most MAM_TRACE_RING_TEXT; NULL:
 * another kind, or not one comment.
 */
const char *mam_trace_record_text(const struct mam_trace_record *record, const char *text,
				  uint64_t text_bytes, size_t *length);

#ifdef __cplusplus
}
#endif
#endif
