/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.h - one include redirects cudaMalloc and cudaFree of a source file to mam.
 *
 *   #include <mam/cuda.h>
 *
 * after or before the CUDA headers, or -include mam/cuda.h on the compiler's command line. From
 * there on, in that file, cudaMalloc allocates from the default pool of the current context
 * (mam.h), and cudaFree frees to it. Link with mam and with the CUDA runtime, shared or static. Other CUDA
 * calls are unchanged, and cudaFree still frees their memory: it passes pointers that mam does not
 * own to the CUDA runtime.
 *
 * Unchanged behavior:
 *   - Both return cudaError_t. When mam has no memory left, it calls the CUDA runtime, which
 *     provides the result and the pending error. The runtime also reports invalid calls (a double
 *     free, an interior pointer).
 *   - cudaFree waits until work submitted to the device is done (MAM_FREE=stream: it does not).
 *   - cudaMalloc of 0 bytes: success and a null pointer. cudaFree(0) initializes CUDA.
 *   - Typed pointers in C++ (float **), cudaMalloc as a function pointer, kernels that call
 *     cudaMalloc themselves.
 *   - cudaDeviceReset frees all device memory, that of mam included: afterwards a new pool is
 *     created.
 *
 * A block of mam must be freed in a file that includes this header, or by mam_free(). Include it in
 * all files of a program that pass blocks to each other.
 */
#ifndef MAM_CUDA_H
#define MAM_CUDA_H

#ifdef __cplusplus
#include <cuda_runtime.h>
#else
#include <cuda_runtime_api.h>
#endif

#include <mam/mam.h>

#define MAM_CUDA_DEVICES 64

/* Under nvcc the names must work in kernels too, where they still mean CUDA's device-side calls. */
#if defined(__CUDACC__)
#define MAM_CUDA_CALL static __inline__ __host__ __device__
#else
#define MAM_CUDA_CALL static __inline__
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The default pools that cudaMalloc has used: one table per program, however many files include
 * this header. A pool that is not in it is new: the CUDA runtime has not set up the device's
 * primary context yet, which the runtime and the pool share.
 */
__attribute__((weak, visibility("default"))) struct mam_pool *mam_cuda_pools[MAM_CUDA_DEVICES];

#ifdef __cplusplus
}
#endif

/*
 * The default pool of the current device. NULL: there is none, and the CUDA runtime must serve the
 * call.
 */
static __inline__ struct mam_pool *mam_cuda_pool(void)
{
	struct mam_pool *pool, *known;
	int device;

	if (cudaGetDevice(&device) != cudaSuccess || device < 0 || device >= MAM_CUDA_DEVICES)
		return NULL;
	known = __atomic_load_n(&mam_cuda_pools[device], __ATOMIC_ACQUIRE);
	if (!known && cudaFree(NULL) != cudaSuccess)
		return NULL;
	if (mam_pool_default(device, &pool) != MAM_OK)
		return NULL;
	if (pool != known)
		__atomic_store_n(&mam_cuda_pools[device], pool, __ATOMIC_RELEASE);
	return pool;
}

static __inline__ cudaError_t mam_cuda_malloc_host(void **block, size_t bytes)
{
	struct mam_pool *pool;

	if (block && bytes == 0) {
		*block = NULL;
		return cudaSuccess;
	}
	pool = block ? mam_cuda_pool() : NULL;
	if (pool && mam_malloc(pool, bytes, block) == MAM_OK)
		return cudaSuccess;
	return cudaMalloc(block, bytes);
}

static __inline__ cudaError_t mam_cuda_free_host(void *block)
{
	enum mam_status status = block ? mam_free(NULL, block) : MAM_ERROR_NOT_OWNED;
	cudaError_t error;

	switch (status) {
	case MAM_OK: return cudaSuccess;
	case MAM_ERROR_INTERIOR:
	case MAM_ERROR_DOUBLE_FREE:
		/*
		 * Never pass the address itself: it may be the start of a whole chunk. The runtime
		 * rejects an address that cannot exist.
		 */
		return cudaFree((void *)1);
	case MAM_ERROR_DRIVER:
		/* The wait for the device failed: the runtime knows the reason. */
		error = cudaDeviceSynchronize();
		return error != cudaSuccess ? error : cudaErrorUnknown;
	default: return cudaFree(block);
	}
}

static __inline__ cudaError_t mam_cuda_device_reset(void)
{
	struct mam_pool *pool = NULL;
	int device;

	if (cudaGetDevice(&device) == cudaSuccess && device >= 0 && device < MAM_CUDA_DEVICES)
		pool = __atomic_exchange_n(&mam_cuda_pools[device], (struct mam_pool *)NULL,
					   __ATOMIC_ACQ_REL);
	if (pool)
		mam_pool_abandon(pool);
	return cudaDeviceReset();
}

MAM_CUDA_CALL cudaError_t mam_cuda_malloc(void **block, size_t bytes)
{
#if defined(__CUDA_ARCH__)
	return cudaMalloc(block, bytes);
#else
	return mam_cuda_malloc_host(block, bytes);
#endif
}

MAM_CUDA_CALL cudaError_t mam_cuda_free(void *block)
{
#if defined(__CUDA_ARCH__)
	return cudaFree(block);
#else
	return mam_cuda_free_host(block);
#endif
}

#ifdef __cplusplus
template <class T> MAM_CUDA_CALL cudaError_t mam_cuda_malloc(T **block, size_t bytes)
{
	return mam_cuda_malloc((void **)(void *)block, bytes);
}
#endif

#define cudaMalloc mam_cuda_malloc
#define cudaFree mam_cuda_free
#define cudaDeviceReset mam_cuda_device_reset

#endif
