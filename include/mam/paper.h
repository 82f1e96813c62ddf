/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paper.h - the five calls of the MAM paper, as published.
 *
 * Can Aknesil and Didem Unat, "MAM: A Memory Allocation Manager for GPUs", sections II and III.
 * There is one environment in a process: one chunk of device memory, which all blocks come from and
 * which does not grow. Three ways to use it:
 *
 *   explicit    MAM_Create(maxSize);
 *               MAM_CudaMalloc(&ptr, size); ... MAM_CudaFree(ptr);
 *               MAM_Destroy();
 *   automatic   MAM_Create_auto(); ... the same; the chunk is the largest the device gives
 *   lazy        MAM_CudaMalloc(&ptr, size); ... MAM_CudaFree(ptr);
 *               the first allocation calls MAM_Create_auto() itself, and when the last block has
 *               been freed the environment ends by itself and the device has its memory back. The
 *               next allocation begins anew.
 *
 * Where the paper is silent, and where its code goes wrong, this is what happens here:
 *   - Each call answers an int with the meaning of a cudaError_t (list below); 0 is success. The
 *     paper's own code answered 1 for success from some calls and nothing from others.
 *   - Blocks are 512 bytes or a multiple of it, at addresses that are multiples of 512
 *     (MAM_GRANULE).
 *   - MAM_CudaFree() waits until work submitted to the device is done, as cudaFree does, before the
 *     block can be handed out again (MAM_FREE=stream: it does not).
 *   - All calls may be made from any thread at any time, the first allocation and the last free
 *     included.
 *   - A mistake is answered and changes nothing: freeing twice, freeing the inside of a block or a
 *     foreign address.
 *   - MAM_Destroy() takes back everything, blocks that are still in use included: their addresses
 *     end with it.
 *   - The environment is on the device that is current when it is made.
 *   - MAM_SOURCE=host puts it on host addresses, without a GPU.
 *
 * Answers: 0 success, 1 invalid value, 2 out of memory, 100 no device, 401 illegal state (the
 * environment exists already, or does not exist), 801 not supported, 999 unknown: the driver failed
 * for a reason of its own.
 *
 * The environment is a pool like any other: mam_owner() finds it, and mam.h's calls show what is in
 * it.
 */
#ifndef MAM_PAPER_H
#define MAM_PAPER_H

#include <mam/mam.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Make the environment with a chunk of maxSize bytes. 1: maxSize is 0; 2: the device does not have
 * it; 401: it exists.
 */
MAM_API int MAM_Create(size_t maxSize);

/*
 * Make the environment with the largest chunk to be had, found by falling sizes. Answers as
 * MAM_Create().
 */
MAM_API int MAM_Create_auto(void);

/* End the environment, blocks in use included, however it was made. 401: there is none. */
MAM_API int MAM_Destroy(void);

/*
 * A block. Without an environment, make one as MAM_Create_auto() does. size 0: success and a null
 * pointer. 1: ptr is null.
 */
MAM_API int MAM_CudaMalloc(void **ptr, size_t size);

/*
 * Give a block back. A null pointer: success. 1: not a block of the environment, or there is none.
 */
MAM_API int MAM_CudaFree(void *ptr);

#ifdef __cplusplus
}

/* As cudaMalloc in C++: a pointer to a pointer of any type. */
template <class T> static inline int MAM_CudaMalloc(T **ptr, size_t size)
{
	return MAM_CudaMalloc(reinterpret_cast<void **>(ptr), size);
}
#endif
#endif
