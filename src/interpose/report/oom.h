/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oom.h - what the user learns when the program receives out of memory: a message, and a report with
 * the state of that moment (MAM_OOM_REPORT).
 *
 *   DIR/oom.NAME.PID.N.txt    for people: the request, the memory of the GPU, of other processes
 *                             and of the pool, advice, and the tags, sizes or call sites with the
 *                             largest sums
 *   DIR/oom.NAME.PID.N.trace  the heap, for mam replay --map (oom_heap.h)
 *
 * The report is written in the failing call, after the driver has returned its error and before the
 * program receives it. It changes neither errno nor any result, allocates no memory of the GPU, and
 * makes two driver calls, for the current device and its free memory; none while a stream is in
 * capture. Bound: one report per second and 8 per process, and one thread at a time: others return
 * at once. Measured with 200,000 segments: 15 ms. If it cannot be written, one message gives the
 * reason, and this process writes no further report.
 */
#ifndef MAM_INTERPOSE_OOM_H
#define MAM_INTERPOSE_OOM_H

struct mam_watch_call;

/* No lock is held, and the guard is up. */
void mam_oom_explain(const struct mam_watch_call *call);

/* Called in the child of a fork. */
void mam_oom_restart(void);

#endif
