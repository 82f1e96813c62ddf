/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h - blocks in the order of a stream: allocate and free without ever waiting.
 *
 * mam_free_async() says: work submitted to `stream` so far may still use the block, no other work
 * does. From then on
 *   - an allocation on the same stream may get it at once, whole or in part, or joined with what
 *     lies beside it and was freed there too: its work comes after that of the free. Kernels with
 *     programmatic dependent launch may begin before the ones in front of them in their stream end;
 *     a kernel that reads or writes new memory before it waits for those
 *     (cudaGridDependencySynchronize) must not be given memory that way: free with mam_free()
 *     there;
 *   - any other allocation gets it once the stream has got that far: a fence (an event) is recorded
 *     when a block leaves its stream, not at each free, and is shared by many blocks.
 *
 * Streams are CUDA's: CUstream and cudaStream_t, the same thing. NULL and (cudaStream_t)1 are the
 * legacy default stream of the pool's context, whatever context is current, (cudaStream_t)2 is the
 * calling thread's own; where a program is compiled so that NULL means that one, pass 2. A stream
 * may be another context's or device's. mam knows a stream by its id, not by its handle, which the
 * driver gives to a later stream again, and keeps no handle: destroying a stream needs no call
 * here. What it freed last then stays with it until the pool runs short or is trimmed;
 * mam_stream_release() before avoids that.
 *
 * Captures: what is freed on a stream in capture is used again within the same capture only, and
 * elsewhere once the program says so by mam_stream_release() with the captured stream's handle and
 * the graph is gone, or when the pool ends. No call here ends a capture, with one exception: before
 * OUT_OF_MEMORY and in mam_pool_trim() the whole context may have to be waited for. Where the device
 * has not even 512 bytes left for the kind of wait that ends none, all captures in it end. That is
 * not done while a stream was in capture when it was last named here, nor while a blocking stream
 * is.
 *
 * A pool whose source knows no streams (host) takes every stream for done at once.
 */
#ifndef MAM_STREAM_H
#define MAM_STREAM_H

#include <mam/mam.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;

/*
 * mam_malloc_async - a block for work on `stream`. pool NULL: the current context's default pool.
 *
 * The block may be used by work on `stream` submitted after the call, and by other work that is
 * ordered after that. Never waits for the GPU, except where the alternative is OUT_OF_MEMORY.
 * Errors and everything else as mam_malloc(), and INVALID_VALUE: the driver knows no such stream.
 */
MAM_API enum mam_status mam_malloc_async(struct mam_pool *pool, size_t bytes,
					 struct CUstream_st *stream, void **block);

/*
 * mam_free_async - give a block back in the order of `stream`. It may come from mam_malloc() or
 * mam_malloc_async(), of the same stream or another. pool NULL: whichever pool owns it. block NULL:
 * MAM_OK, nothing done. Never waits, whatever the pool's policy. Errors as mam_free(), none of
 * which changes anything; INVALID_VALUE: the driver knows no such stream; DRIVER: it cannot say
 * whether the stream is in capture.
 */
MAM_API enum mam_status mam_free_async(struct mam_pool *pool, void *block,
				       struct CUstream_st *stream);

/*
 * mam_stream_release - blocks freed on `stream` go to all others as soon as its work is done: for
 * streams that will not allocate again. What was freed in captures of the stream that are over is
 * freed on the stream now. On a stream in capture: nothing. Optional. Never waits. pool NULL: the
 * current context's default pool.
 */
MAM_API enum mam_status mam_stream_release(struct mam_pool *pool, struct CUstream_st *stream);

#ifdef __cplusplus
}
#endif
#endif
