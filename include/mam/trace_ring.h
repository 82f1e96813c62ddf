/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_ring.h - the part of a trace that is still in a process's memory: FILE.ring, which
 * `mam run --trace FILE` keeps beside FILE while the program runs. Between the interposer, which
 * writes it, and the command, which reads it after the program was killed; not installed.
 *
 *   page 0     struct mam_trace_ring, the rest zero
 *   then       `capacity` records of 64 bytes, a power of two
 *
 * Record i, counted from 0, lies in slot i modulo capacity, and is whole when its `number` is
 * i + 1: the number is written last, so what was being written at the end is known for that.
 * Each record is one line of FILE, in the same order, behind `lines` lines of heading: the lines
 * that FILE has say which records are still to come. A slot is used again only after its line was
 * written to FILE.
 *
 * Byte order and sizes are the machine's; magic tells.
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
#define MAM_TRACE_RING_MOST ((uint64_t)1 << 20)  /* records, of a ring that is believed */

struct mam_trace_ring {
	uint64_t magic;
	uint64_t capacity; /* records */
	uint64_t token;    /* FILE's first line says "ring=" and this number, sixteen hex digits */
	uint64_t lines;    /* of heading in FILE */
	uint64_t pid;      /* the writer's number */
	uint64_t start;    /* and when it started, as the system counts */
};

enum mam_trace_record_kind {
	MAM_TRACE_RECORD_ALLOC = 1,
	MAM_TRACE_RECORD_FREE = 2,
	MAM_TRACE_RECORD_LOST = 3 /* `bytes` events could not be written */
};

enum mam_trace_record_flag {
	MAM_TRACE_RECORD_DRIVER = 1, /* the driver's block, not a pool's */
	MAM_TRACE_RECORD_IMPLIED = 2 /* freed with its context, or by a call that was not seen */
};

/* The upper byte of a record's flags: the device's number + 1; 0: not known. */
#define MAM_TRACE_RECORD_DEVICE_SHIFT 8
#define MAM_TRACE_RECORD_DEVICE_MAX 254

struct mam_trace_record {
	uint64_t number; /* i + 1; anything else: not whole */
	uint64_t ns;     /* since the trace began */
	uint64_t id;
	uint64_t bytes;
	uint64_t stream;
	uint64_t context; /* 0: not known */
	uint64_t who; /* the writer's own: it means nothing to others */
	uint32_t thread;
	uint16_t kind;
	uint16_t flags;
};

/* Whether a heading can be believed of a ring of so many bytes. */
bool mam_trace_ring_is_sound(const struct mam_trace_ring *ring, uint64_t bytes);

/*
 * The line of a record, newline included and not terminated, and its length, at most
 * MAM_TRACE_RING_LINE; 0: it is of no known kind.
 */
size_t mam_trace_record_print(const struct mam_trace_record *record, char *line);

#ifdef __cplusplus
}
#endif
#endif
