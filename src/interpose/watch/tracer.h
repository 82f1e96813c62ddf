/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracer.h - the watcher that writes a trace of the program's allocations (mam-trace.5).
 *
 *   1. An alloc takes a place in the ring (trace_ring.h); that place is the block's id. Address and
 *      id go into a ledger, for the free.
 *   2. A free finds the id there. A block that the ledger does not know was not traced, and its
 *      free is not either: so whatever is dropped, no line frees what was never allocated.
 *   3. An address that is given out while the ledger has it alive was freed by a call that mam does
 *      not see: the old block's free is written behind, marked so. So are the frees of all blocks
 *      of a context that is gone.
 *   4. Where MAM_TRACE_WHO asks for it, an alloc keeps its call stack (stack.h), of which the line
 *      in the file tells one word; in the ring it is a pointer that nobody else can read.
 *   5. trace_out.h takes the ring to the file.
 * Traced is memory on the device by cudaMalloc, cuMemAlloc and their pitched and stream-ordered
 * kin, whoever served it. Managed and host memory, arrays and cuMemCreate are not.
 * Measured on a slow machine of two threads: 62 ns an event, of which the clock takes 29, the
 * ring 21 and the ledger 12; 125 ns while the other thread writes the file.
 */
#ifndef MAM_INTERPOSE_TRACER_H
#define MAM_INTERPOSE_TRACER_H

struct mam_watch_call;

/* Begins to watch if MAM_TRACE names a file. The file is made at the first event. */
void mam_tracer_start(void);

void mam_tracer_alloc(const struct mam_watch_call *call);
void mam_tracer_free(const struct mam_watch_call *call);

/* A context and all its memory are gone. */
void mam_tracer_context_gone(void *context);

/* The process ends: what is in memory goes to the file. Host data only. */
void mam_tracer_finish(void);

/* In the child of a fork: forget the parent's trace, and begin one of its own if mam serves it. */
void mam_tracer_restart(void);

#endif
