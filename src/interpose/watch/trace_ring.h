/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_ring.h - buffers events for the trace in a ring of records in a mapped file, so that a
 * killed process loses only the events that were being written (<mam/trace_ring.h> defines the
 * format).
 *
 *   1. A thread reserves a slot by adding one to the head: the order of slots is the order of
 *      events. It fills in the record and writes its number last.
 *   2. One thread at a time drains complete segments from the tail, in order, and then advances the
 *      tail.
 *   3. Head and tail are private to this process and not in the file: no other process can change
 *      them.
 *   4. Lines of text, such as the frames of call stacks, are in a second ring of bytes in the same
 *      file. A record refers to each. If there is no room, the line is not added.
 *   5. If the ring is full a thread waits, but no longer than WAIT_MS. Then events are dropped and
 *      counted until half of the ring is free, and one record reports how many.
 *
 * The file's space is allocated before it is mapped, so that a full disk is an error at the start
 * rather than a signal later.
 * Invariant: tail <= head <= tail + capacity, except for threads that reserved and wait for a slot.
 * Bound: 8 MiB, and 4 MiB of text if there is any. Measured: 21 ns per event, for one thread while
 * the ring is not drained.
 */
#ifndef MAM_INTERPOSE_TRACE_RING_H
#define MAM_INTERPOSE_TRACE_RING_H

#include <stdbool.h>
#include <stdint.h>

#include <mam/trace_ring.h>

#define MAM_TRACE_SEGMENT ((uint64_t)1 << 13) /* records that are written out together */

/*
 * mam_trace_ring_open - create a ring in a file that will be named `place`, or in memory alone if
 * it is NULL. Errors are errno values. A previous ring, which no thread may use anymore, is unmapped.
 * mam_trace_ring_publish - give the file its name, or remove it if it is not wanted.
 */
int mam_trace_ring_open(const char *place, const struct mam_trace_ring *heading);
int mam_trace_ring_publish(bool is_wanted);

/*
 * Reserves a slot for an event. Returns NULL if the event is dropped, or the ring was closed.
 * *segment_full: a thread should drain the ring. mam_trace_ring_commit() writes `number`; all other
 * fields must be written before.
 */
struct mam_trace_record *mam_trace_ring_reserve(uint64_t *number, bool *segment_full);
void mam_trace_ring_commit(struct mam_trace_record *record, uint64_t number);

/* Whether more than half of the ring waits to be drained. */
bool mam_trace_ring_is_half_full(void);
/*
 * Adds a line of text, newline included. Returns false if there is no room, or the ring was closed.
 * One thread at a time.
 */
bool mam_trace_ring_add_text(const char *line, size_t bytes, bool *segment_full);

/* Accepts no more events; threads that wait for space stop waiting. */
void mam_trace_ring_close(void);

/* For the draining thread: returns the number of slots reserved since the tail, and that tail. */
uint64_t mam_trace_ring_waiting(uint64_t *tail);

/* Returns record i, or NULL if it is not complete after `patience_ms`. */
const struct mam_trace_record *mam_trace_ring_record(uint64_t i, unsigned int patience_ms);

/* Returns the line of a record of kind TEXT, NULL: another kind. */
const char *mam_trace_ring_text(const struct mam_trace_record *record, size_t *length);

/* Everything before `tail` is written: its slots and its text may be reused. */
void mam_trace_ring_advance(uint64_t tail);

#endif
