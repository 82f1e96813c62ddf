/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h - stream-ordered allocation: allocate and free without ever waiting.
 *
 * mam_free_async() declares that work already submitted to `stream` may still use the block, and
 * that no other work does. From then on
 *   - an allocation on the same stream may reuse it at once, as a whole, in part, or merged with
 *     adjacent blocks that were freed on that stream: its work runs after that of the free. Kernels
 *     with programmatic dependent launch may begin before the preceding kernels of their stream
 *     end. If such a kernel accesses new memory before it waits for those
 *     (cudaGridDependencySynchronize), it must not get memory that way: free with mam_free() there;
 *   - any other allocation can use it when the stream has reached that point. A fence (an event)
 *     is recorded when a block leaves its stream, not at each free, and many blocks share it;
 *   - where the pool would exceed its footprint (struct mam_pool_attr) or return OUT_OF_MEMORY, a
 *     request on another stream can use it at once: that stream waits for the fence on the GPU, and
 *     no thread waits. Streams in capture neither wait nor are waited for.
 *
 * Streams are CUDA streams: CUstream and cudaStream_t are the same type. NULL and (cudaStream_t)1
 * are the legacy default stream of the pool's context, whatever context is current. (cudaStream_t)2
 * is the per-thread default stream of the calling thread; in a program that is compiled so that
 * NULL means that stream, pass 2. A stream may belong to another context or device. mam identifies
 * a stream by its id, not by its handle, which the driver reuses for later streams. mam keeps no
 * handle: destroying a stream needs no call here. Blocks that were last freed on a destroyed stream
 * stay with it until the pool runs short or is trimmed; call mam_stream_release() first to avoid
 * that.
 *
 * In a pool with thread caches, a thread keeps blocks of up to 1 MiB that it freed on a stream for
 * its next requests on that stream. They become available to others as other cached blocks do
 * (mam.h), and by mam_stream_release().
 *
 * Captures: a block freed on a stream in capture is reused only within the same capture. It becomes
 * available elsewhere in two cases: the program calls mam_stream_release() with the captured
 * stream's handle and the graph is gone, or the pool ends. No call here ends a capture, with one
 * exception. Before OUT_OF_MEMORY and in mam_pool_trim() the pool may have to wait for the whole
 * context. If the device has not even 512 bytes left for the kind of wait that preserves captures,
 * all captures in the context end. The pool does not do that while a stream was in capture when it
 * was last named here, nor while a blocking stream is in capture.
 *
 * A pool whose source has no streams (host) treats every stream as idle.
 */
#ifndef MAM_STREAM_H
#define MAM_STREAM_H

#include <mam/mam.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;

/*
 * mam_malloc_async - allocate a block for work on `stream`. pool NULL: the current context's default
 * pool.
 *
 * The block may be used by work submitted to `stream` after the call, and by other work that is
 * ordered after that. Never waits for the GPU, except where the alternative is OUT_OF_MEMORY.
 * Errors and everything else as mam_malloc(); also INVALID_VALUE: the driver does not know the
 * stream.
 */
MAM_API enum mam_status mam_malloc_async(struct mam_pool *pool, size_t bytes,
					 struct CUstream_st *stream, void **block);

/*
 * mam_free_async - free a block in the order of `stream`. It may come from mam_malloc() or
 * mam_malloc_async(), of the same stream or another. pool NULL: the pool that owns it. block NULL:
 * MAM_OK, a no-op. Never waits, whatever the pool's policy. Errors as mam_free(), none of which
 * changes anything; INVALID_VALUE: the driver does not know the stream; DRIVER: the driver cannot
 * report whether the stream is in capture.
 */
MAM_API enum mam_status mam_free_async(struct mam_pool *pool, void *block,
				       struct CUstream_st *stream);

/*
 * mam_stream_release - make blocks freed on `stream` available to all other streams as soon as its
 * work is done: for streams that will not allocate again. Blocks that were freed in finished
 * captures of the stream are freed on the stream now. On a stream in capture: a no-op. Optional.
 * Never waits. pool NULL: the current context's default pool.
 */
MAM_API enum mam_status mam_stream_release(struct mam_pool *pool, struct CUstream_st *stream);

#ifdef __cplusplus
}
#endif
#endif
