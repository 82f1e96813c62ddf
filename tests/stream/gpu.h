/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu.h - a GPU for schedules of host threads (simt/host.h): its driver, its memory, and the work
 * that uses it.
 *
 * Work that was submitted to a stream is complete after gpu_run(), or after the driver waited
 * for it. So a host thread that calls gpu_run() makes completion a choice of the schedule. Work of
 * one stream is complete in order, and not before the work that its stream waits for.
 *
 * A run fails if
 *   - a block is allocated while a caller holds it, or freed by a caller that does not hold it;
 *   - work is submitted that uses memory which other work still uses, and does not wait for it;
 *   - memory returns to the driver while a caller holds it or work uses it;
 *   - the driver gets a stream or an event that was destroyed.
 *
 * A call here is one step of the schedule, or several if it waits. Its accesses are not observed.
 */
#ifndef TESTS_STREAM_GPU_H
#define TESTS_STREAM_GPU_H

#include <stdbool.h>

#include <mam/source.h>

#include "source/driver.h"

#define GPU_STREAMS 8 /* ever created in one run, and the legacy stream */

/* `bytes`: of memory. Everything of the last run is gone. */
void gpu_begin(size_t bytes);
struct mam_source *gpu_source(void);
struct CUctx_st *gpu_context(void);

/* A new stream has the handle of the stream that was destroyed last, as with the driver. */
struct CUstream_st *gpu_stream_new(void);
void gpu_stream_end(struct CUstream_st *stream);

/* From now on the driver refuses to create and to record events, or no longer. */
void gpu_refuse_events(bool refuse);

/* All work of the stream is complete. gpu_run_former: of streams that had its handle before. */
void gpu_run(struct CUstream_st *stream);
void gpu_run_former(struct CUstream_st *stream);

/* A caller got a block in the order of the stream, and submits work that uses it. */
void gpu_got(void *block, size_t bytes, struct CUstream_st *stream);
/* The same for a block that any stream may use at once. */
void gpu_got_idle(void *block, size_t bytes);
void gpu_use(void *block, size_t bytes, struct CUstream_st *stream);
/* The caller is about to free it. */
void gpu_gone(void *block, size_t bytes);

/* Bytes that the pool got and did not return; events that exist. */
size_t gpu_bytes(void);
unsigned gpu_events(void);

#endif
