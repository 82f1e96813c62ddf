/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paper.h - the five calls of the MAM paper, as published.
 *
 * Can Aknesil and Didem Unat, "MAM: A Memory Allocation Manager for GPUs", sections II and III. A
 * process has one environment: one chunk of device memory, which does not grow and from which all
 * blocks are allocated. There are three ways to use it:
 *
 *   explicit    MAM_Create(maxSize);
 *               MAM_CudaMalloc(&ptr, size); ... MAM_CudaFree(ptr);
 *               MAM_Destroy();
 *   automatic   MAM_Create_auto(); ... the same; the chunk is the largest the device gives
 *   lazy        MAM_CudaMalloc(&ptr, size); ... MAM_CudaFree(ptr);
 *               the first allocation calls MAM_Create_auto() itself. When the last block has
 *               been freed, the environment ends by itself and releases the device's memory.
 *               The next allocation starts again.
 *
 * Where the paper is silent, and where its code is wrong, mam does the following:
 *   - Each call returns an int with the meaning of a cudaError_t (list below); 0 is success. The
 *     paper's own code returned 1 for success from some calls and nothing from others.
 *   - Block sizes and addresses are multiples of 512 bytes (MAM_GRANULE).
 *   - MAM_CudaFree() waits until work submitted to the device is done, as cudaFree does, before the
 *     block can be allocated again (MAM_FREE=stream: it does not).
 *   - All calls may be made from any thread at any time, the first allocation and the last free
 *     included.
 *   - A double free, an interior pointer or an unknown address is reported and changes nothing.
 *   - MAM_Destroy() frees everything, live blocks included: their addresses become invalid.
 *   - The environment is on the device that is current when it is created.
 *   - MAM_SOURCE=host puts it on host addresses, without a GPU.
 *
 * Return values: 0 success, 1 invalid value, 2 out of memory, 100 no device, 401 illegal state (the
 * environment exists already, or does not exist), 801 not supported, 999 unknown (another driver
 * error).
 *
 * The environment is an ordinary pool: mam_owner() finds it, and mam.h's calls inspect it.
 */
#ifndef MAM_PAPER_H
#define MAM_PAPER_H

#include <mam/mam.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Create the environment with a chunk of maxSize bytes. 1: maxSize is 0; 2: the device does not
 * have that much memory; 401: the environment exists.
 */
MAM_API int MAM_Create(size_t maxSize);

/*
 * Create the environment with the largest available chunk, found by trying smaller and smaller
 * sizes. Returns as MAM_Create().
 */
MAM_API int MAM_Create_auto(void);

/* End the environment however it was created, live blocks included. 401: it does not exist. */
MAM_API int MAM_Destroy(void);

/*
 * Allocate a block. Without an environment, create one as MAM_Create_auto() does. size 0: success
 * and a null pointer. 1: ptr is null.
 */
MAM_API int MAM_CudaMalloc(void **ptr, size_t size);

/*
 * Free a block. A null pointer: success. 1: not a block of the environment, or there is no
 * environment.
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
