/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plug.h - mam as the allocator of PyTorch, CuPy and RMM: functions with the signatures that these
 * take.
 *
 * All of them work on the default pool of the device they are given (mam_pool_default(): of the
 * current context if it is on that device, otherwise of the primary one; with the
 * settings of the environment: mam.7), and in the order of the stream they are given, as stream.h
 * has it: what is freed on a stream is used again there at once, and elsewhere when that stream's
 * work is done. 0 bytes: NULL, and freeing NULL does nothing. Where there is no memory, no such
 * device or no such block, one line in the log says so. mam_pool_default() and mam_pool_stats() can
 * be called from Python by ctypes. README has an example of each.
 *
 * PyTorch, torch.cuda.memory.CUDAPluggableAllocator(path of libmam.so, "mam_torch_alloc",
 * "mam_torch_free"), before the first tensor on a GPU:
 *   - without memory, mam_torch_alloc() makes PyTorch raise a RuntimeError that begins "CUDA out
 *     of memory": PyTorch itself does not look whether such an allocator gave it NULL.
 *   - Tensor.record_stream() does nothing until it is told what to call:
 *     allocator.allocator().set_record_stream_fn(address of mam_torch_record_stream). Without it a
 *     tensor used on a second stream may be used again too early, as PyTorch says.
 *   - torch.cuda.empty_cache() likewise: set_reset_fn(address of mam_torch_empty_cache).
 *   - memory that was allocated while a stream was in capture (CUDA graphs) and is freed within the
 *     same capture stays with that capture (stream.h).
 *   - not covered, since PyTorch asks no such allocator for them: torch.cuda.memory_stats(),
 *     memory_snapshot() and the peaks (mam_pool_stats() has its own), tensors sent to other
 *     processes by CUDA IPC, set_per_process_memory_fraction() (MAM_LIMIT does that), and
 *     checkpoints of graph pools.
 * In a torch.cuda.MemPool(allocator) PyTorch's own cache asks mam for its segments, does look for
 * NULL, and then empties itself: name "mam_torch_pool_alloc" there.
 *
 * CuPy, cupy.cuda.CFunctionAllocator(stream, address of mam_cupy_alloc, address of mam_cupy_free,
 * owner): its first argument goes to the functions as it is, and is the stream in whose order all
 * of that allocator's blocks are; 0 is the default stream of CuPy: the legacy one, or the calling
 * thread's own if CUPY_CUDA_PER_THREAD_DEFAULT_STREAM is set to 1. A program with several streams
 * makes an allocator for each. CuPy does not look for NULL: the caller must.
 *
 * RMM, rmm::mr::callback_memory_resource{...} and, by ctypes, rmm.mr.CallbackMemoryResource(alloc,
 * free): the last argument is a pool, or NULL for the current context's default. RMM does not look
 * for NULL either: throw, or raise MemoryError. Stream 0 may be compiled to mean the legacy default
 * stream or the calling thread's own. It is taken for the latter, which is correct in both cases.
 * If it is the legacy stream and several threads use it, pass 1 instead: then each of them reuses at
 * once what another one freed.
 *
 * The calling thread's own stream, (cudaStream_t)2: PyTorch and CuPy free a block in any thread, and
 * do not pass on whose stream used it. Such a block is reused when all work that the context's default
 * streams had at that time is done.
 */
#ifndef MAM_PLUG_H
#define MAM_PLUG_H

#include <sys/types.h>

#include <mam/mam.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;

MAM_API void *mam_torch_alloc(ssize_t bytes, int device, struct CUstream_st *stream);
MAM_API void mam_torch_free(void *block, ssize_t bytes, int device, struct CUstream_st *stream);

/* mam_torch_pool_alloc - the same as mam_torch_alloc(), but NULL where there is no memory. */
MAM_API void *mam_torch_pool_alloc(ssize_t bytes, int device, struct CUstream_st *stream);

/*
 * mam_torch_record_stream - work on `stream` uses the block too. When it is freed it goes to nobody
 * until the work that was then on its own stream and on all recorded ones is done. No stream waits
 * for another, nor does the caller, but where a stream was destroyed meanwhile. Streams of other
 * devices count; a default stream is that of the block's device.
 */
MAM_API void mam_torch_record_stream(void *block, struct CUstream_st *stream);

/* mam_torch_empty_cache - free memory of all devices' default pools goes back to the driver. */
MAM_API void mam_torch_empty_cache(void);

MAM_API void *mam_cupy_alloc(void *stream, size_t bytes, int device);
MAM_API void mam_cupy_free(void *stream, void *block, int device);

MAM_API void *mam_rmm_alloc(size_t bytes, struct CUstream_st *stream, void *pool);
MAM_API void mam_rmm_free(void *block, size_t bytes, struct CUstream_st *stream, void *pool);

#ifdef __cplusplus
}
#endif
#endif
