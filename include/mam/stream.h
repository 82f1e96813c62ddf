/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h - blocks in the order of a stream: allocate and free without ever waiting.
 *
 * mam_free_async() says: work submitted to `stream` so far may still use the block, no other work
 * does. From then on
 *   - an allocation on the same stream may get it at once: its work comes after that of the free.
 *     Kernels with programmatic dependent launch may begin before the ones in front of them in
 *     their stream end; a kernel that reads or writes new memory before it waits for those
 *     (cudaGridDependencySynchronize) must not be given memory that way: free with mam_free() there;
 *   - any other allocation gets it once the stream has got that far: a fence (an event) is recorded
 *     when a block leaves its stream, not at each free, and is shared by many blocks.
 *
 * Streams are CUDA's: CUstream and cudaStream_t, the same thing. NULL and (cudaStream_t)1 are the
 * legacy default stream of the pool's device, (cudaStream_t)2 the calling thread's own. mam knows a
 * stream by its id, not by its handle, which the driver gives to a later stream again: destroying a
 * stream needs no call here.
 *
 * Captures: what is freed on a stream in capture is used again within the same capture only, and
 * elsewhere once the program says so by mam_stream_release() with the captured stream's handle and
 * the graph is gone, or when the pool ends.
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
 * mam_malloc_async - a block for work on `stream`. pool NULL: the current device's default pool.
 *
 * The block may be used by work on `stream` submitted after the call, and by other work that is
 * ordered after that. Never waits for the GPU, except where the alternative is OUT_OF_MEMORY.
 * Errors and everything else as mam_malloc().
 */
MAM_API enum mam_status mam_malloc_async(struct mam_pool *pool, size_t bytes,
					 struct CUstream_st *stream, void **block);

/*
 * mam_free_async - give a block back in the order of `stream`. It may come from mam_malloc() or
 * mam_malloc_async(), of the same stream or another. pool NULL: whichever pool owns it. block NULL:
 * MAM_OK, nothing done. Never waits. Errors as mam_free(), none of which changes anything.
 */
MAM_API enum mam_status mam_free_async(struct mam_pool *pool, void *block,
				       struct CUstream_st *stream);

/*
 * mam_stream_release - blocks freed on `stream` go to all others as soon as its work is done: for
 * streams that will not allocate again. Optional. Never waits.
 */
MAM_API enum mam_status mam_stream_release(struct mam_pool *pool, struct CUstream_st *stream);

#ifdef __cplusplus
}
#endif
#endif
