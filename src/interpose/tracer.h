/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracer.h - the watcher that writes a trace of the program's allocations (mam-trace.5).
 */
#ifndef MAM_INTERPOSE_TRACER_H
#define MAM_INTERPOSE_TRACER_H

struct mam_watch_call;

/* Opens the trace that MAM_TRACE names and begins to watch. Called when mam wakes up. */
void mam_tracer_start(void);

void mam_tracer_alloc(const struct mam_watch_call *call);
void mam_tracer_free(const struct mam_watch_call *call);

/* The process ends: what is in memory goes to the file. Host data only. */
void mam_tracer_finish(void);

/* In the child of a fork: forget the parent's trace. */
void mam_tracer_restart(void);

#endif
