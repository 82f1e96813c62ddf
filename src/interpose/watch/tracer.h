/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracer.h - the watcher that writes a trace of the program's allocations (mam-trace.5).
 *
 *   1. An allocation takes a slot in the ring (trace_ring.h); the slot's number is the block's id.
 *      Address and id are recorded in a ledger, for the free.
 *   2. A free finds the id there. A block that the ledger does not know was not traced, and neither
 *      is its free. So even if events are dropped, no line frees a block that was never allocated.
 *   3. If an address is allocated while the ledger has it alive, a call that mam does not intercept
 *      freed the old block: its free is written after the allocation, with a mark. The same applies
 *      to all blocks of a destroyed context.
 *   4. If MAM_TRACE_WHO is set, an allocation records its call stack (stack.h), and its line in the
 *      file names the call site in one word. In the ring it is a pointer that no other process can
 *      read. The same holds for the tags of the thread (mam/tag.h), which are recorded if it has any.
 *   5. If MAM_PROFILE is set, an allocation records the number of its call stack (stacks.h), whose
 *      frames are lines of the trace, and therefore also in the ring. With MAM_PROFILE_RATE only some
 *      allocations are recorded (sample.h), and their frees.
 *   6. trace_out.h writes the ring to the file.
 *   7. mam ctl starts a trace of a running program as follows. First, all calls are recorded.
 *      Then each block that was allocated before is added to the ledger and to the trace, unless the
 *      ledger has its address, or a call has freed it meanwhile: frees note their address in a
 *      second ledger before they look into the first. A thread that was about to free a block
 *      when the trace started is not noticed: the block's free follows when its address is
 *      allocated again (3).
 *   8. A trace that has ended leaves the ring and the ledger to the next one once no thread is
 *      inside of a function of this file: threads count themselves, in one of several counters.
 *
 * The trace contains device memory of cudaMalloc, cuMemAlloc and their pitched and stream-ordered
 * variants, whether a pool or the driver served it; of the time before mam ctl started it, only
 * blocks of pools. It does not contain managed and host memory, arrays and cuMemCreate. Measured on
 * a slow machine with two hardware threads: 62 ns per event, of which the clock takes 29, the ring 21
 * and the ledger 12; 125 ns while the other thread writes the file.
 */
#ifndef MAM_INTERPOSE_TRACER_H
#define MAM_INTERPOSE_TRACER_H

#include <stdbool.h>
#include <stdint.h>

struct mam_watch_call;

/* Starts watching if MAM_TRACE or MAM_PROFILE names a file. The file is created at the first event. */
void mam_tracer_start(void);

void mam_tracer_alloc(const struct mam_watch_call *call);
void mam_tracer_free(const struct mam_watch_call *call);

/* Called when a context and all its memory are gone. */
void mam_tracer_context_gone(void *context);

/*
 * mam_tracer_open - start a trace of the running program in the file of that name. Errors are errno
 * values; EBUSY: there is a trace, EAGAIN: a thread has not finished its event or write of the last
 * one. Then call mam_tracer_add() for each block that may have been allocated before, and mam_tracer_opened().
 * With a rate (sample.h), the trace is a profile; NULL: it has what MAM_TRACE_WHO or MAM_PROFILE want.
 * mam_tracer_flush - write its events to the file. Errors: EINVAL (there is none), EIO (its file could
 * not be written; a message gives the reason).
 * mam_tracer_close - end the trace. Returns the number of its events, or false if there is none.
 */
int mam_tracer_open(const char *name, const uint64_t *profile_rate);
bool mam_tracer_add(const struct mam_watch_call *call); /* whether it was such a block */
void mam_tracer_opened(void);
int mam_tracer_flush(void);
bool mam_tracer_close(uint64_t *events);

/* Called when the process ends: writes the buffered events to the file. Uses host data only. */
void mam_tracer_finish(void);

/*
 * Called in the child of a fork: drops the parent's trace, and starts a new one if mam serves the
 * child.
 */
void mam_tracer_restart(void);

#endif
