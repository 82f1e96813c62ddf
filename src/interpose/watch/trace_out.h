/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_out.h - writes the ring to the file: segments of records become text, each one member of a
 * gzip file if libz is found, otherwise plain text.
 *
 * A thread does this once a first segment is full: short programs do not start it. All its signals
 * are blocked, it makes no CUDA calls, and it does not exist in the child of a fork. A failed write
 * ends the trace with one message and does not affect the program; the file then ends after the
 * last complete segment. Measured: 0.29 us per event in that thread, most of it for compression.
 * Programs that allocate faster for longer than the ring's 131,072 events wait for it.
 */
#ifndef MAM_INTERPOSE_TRACE_OUT_H
#define MAM_INTERPOSE_TRACE_OUT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Creates the file of that pattern (process/file.h) and its ring; with `is_name`, the file of
 * exactly that name. If `has_stacks` is true, the ring has room for lines of text. sampled: the mean
 * number of bytes between recorded allocations, for the heading; 0: all are recorded. Errors are
 * errno values; EAGAIN: a write of the last trace has not returned.
 */
int mam_trace_out_open(const char *pattern, bool is_name, bool has_stacks, uint64_t sampled);

/* For messages: "profile" if the trace has call stacks, otherwise "trace". */
const char *mam_trace_out_noun(bool has_stacks);

/* Called when a segment is full. */
void mam_trace_out_wake(void);

/*
 * Writes all events that were begun until now to the file, between mam_file_hush() and
 * mam_file_unhush(). Returns false if the trace has ended early, with a message. Waits for a thread
 * that writes the file.
 */
bool mam_trace_out_flush(void);

/* Called when the process ends: writes the rest to the file and removes the ring. */
void mam_trace_out_finish(void);

/* Called in the child of a fork, which has neither the thread nor the file. */
void mam_trace_out_restart(void);

#endif
