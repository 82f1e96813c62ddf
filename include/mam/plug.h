/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plug.h - mam as the allocator of PyTorch, CuPy and RMM: functions with the signatures that these
 * libraries require.
 *
 * All of them use the default pool of the given device (mam_pool_default(): that of the current
 * context if it is on that device, otherwise of the primary one; with the settings of the
 * environment: mam.7, and the source of mam_plug_source()), in the order of the given stream
 * (stream.h): memory freed on a stream is reusable there at once, and elsewhere when that stream's
 * work is done. 0 bytes: NULL, and freeing NULL is a no-op. If there is no memory, no such device or
 * no such block, the function logs one line. The Python package calls them: docs/frameworks.md.
 *
 * PyTorch, torch.cuda.memory.CUDAPluggableAllocator(path of libmam.so, "mam_torch_alloc",
 * "mam_torch_free"), before the first tensor on a GPU; mam.torch.enable() of the Python package does
 * this. Its enable(extension=True) uses another interface, without the limits below:
 *   - If there is no memory, mam_torch_alloc() makes PyTorch raise a RuntimeError that begins "CUDA
 *     out of memory": PyTorch itself does not check such an allocator's result for NULL.
 *   - Tensor.record_stream() does nothing until it is configured:
 *     allocator.allocator().set_record_stream_fn(address of mam_torch_record_stream). Without it,
 *     memory of a tensor that is used on a second stream may be reused too early, as PyTorch
 *     documents.
 *   - torch.cuda.empty_cache() likewise: set_reset_fn(address of mam_torch_empty_cache).
 *   - Memory that was allocated while a stream was in capture (CUDA graphs) and is freed within the
 *     same capture stays with that capture (stream.h).
 *   - Not supported, since PyTorch does not pass these to such an allocator:
 *     torch.cuda.memory_stats(), memory_snapshot() and the peaks (mam_pool_stats() has its own),
 *     tensors sent to other processes by CUDA IPC, set_per_process_memory_fraction() (MAM_LIMIT
 *     does that), and checkpoints of graph pools.
 * In a torch.cuda.MemPool(allocator) PyTorch's own cache allocates its segments from mam, checks
 * for NULL, and then empties itself: pass "mam_torch_pool_alloc" there.
 *
 * CuPy, cupy.cuda.CFunctionAllocator(stream, address of mam_cupy_alloc, address of mam_cupy_free,
 * owner): its first argument is passed to the functions unchanged, and is the stream that orders
 * all blocks of that allocator. 0 is the default stream of CuPy: the legacy one, or the per-thread
 * one if CUPY_CUDA_PER_THREAD_DEFAULT_STREAM is set to 1. A program with several streams creates an
 * allocator for each. CuPy does not check for NULL: the caller must.
 *
 * RMM, rmm::mr::callback_memory_resource{...} and, by ctypes, rmm.mr.CallbackMemoryResource(alloc,
 * free): the last argument is a pool, or NULL for the current device's default. RMM does not check
 * for NULL either: throw, or raise MemoryError. A program may be compiled so that stream 0 means
 * the legacy default stream or the per-thread default stream. mam treats it as the latter, which is
 * correct in both cases. If it is the legacy stream and several threads use it, pass 1 instead:
 * then each thread can immediately reuse memory that another one freed.
 *
 * The per-thread default stream, (cudaStream_t)2: PyTorch and CuPy free a block in any thread, and
 * do not pass the thread whose stream used it. Such a block is reused when all work that the
 * context's default streams had at the time of the free is done.
 */
#ifndef MAM_PLUG_H
#define MAM_PLUG_H

#include <sys/types.h>

#include <mam/mam.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;

/*
 * mam_plug_source - select the source of the default pools, in place of MAM_SOURCE: "vmm",
 * "cudamalloc", "pinned", "managed" or "host" (mam.7). NULL: if MAM_SOURCE is not set and no source
 * was selected, vmm on devices that can map memory, and cudamalloc on others. mam_torch_alloc() and
 * mam_torch_pool_alloc() select NULL.
 *
 * The first default pool decides: once it was created, NULL has no effect, and another source than
 * its own returns UNSUPPORTED. INVALID_VALUE: no such source.
 */
MAM_API enum mam_status mam_plug_source(const char *source);

/*
 * mam_plug_pool - from now on, mam_torch_alloc() and mam_torch_pool_alloc() of this thread allocate
 * from this pool, if PyTorch requests memory of `device`, on which it must be; NULL: from the default
 * pool again. Frees find the pool of a block by themselves.
 */
MAM_API void mam_plug_pool(struct mam_pool *pool, int device);

MAM_API void *mam_torch_alloc(ssize_t bytes, int device, struct CUstream_st *stream);
MAM_API void mam_torch_free(void *block, ssize_t bytes, int device, struct CUstream_st *stream);

/* mam_torch_pool_alloc - the same as mam_torch_alloc(), but returns NULL if there is no memory. */
MAM_API void *mam_torch_pool_alloc(ssize_t bytes, int device, struct CUstream_st *stream);

/*
 * mam_torch_record_stream - declare that work on `stream` uses the block too. After it is freed, it
 * is not reused until the current work on its own stream and on all recorded streams is done. No
 * stream waits for another, and neither does the caller, unless a stream was destroyed meanwhile.
 * Streams of other devices count; a default stream is that of the block's device.
 */
MAM_API void mam_torch_record_stream(void *block, struct CUstream_st *stream);

/* mam_torch_empty_cache - return free memory of all devices' default pools to the driver. */
MAM_API void mam_torch_empty_cache(void);

MAM_API void *mam_cupy_alloc(void *stream, size_t bytes, int device);
MAM_API void mam_cupy_free(void *stream, void *block, int device);

MAM_API void *mam_rmm_alloc(size_t bytes, struct CUstream_st *stream, void *pool);
MAM_API void mam_rmm_free(void *block, size_t bytes, struct CUstream_st *stream, void *pool);

#ifdef __cplusplus
}
#endif
#endif
