/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.h - one include turns cudaMalloc and cudaFree of a source file into mam.
 *
 *   #include <mam/cuda.h>      after or before the CUDA headers; or -include mam/cuda.h on the compiler's command line
 *
 * From there on, in that file, cudaMalloc takes its blocks from the default pool of the current device (mam.h), and
 * cudaFree gives them back. Link with mam and with the CUDA runtime, shared or static. Other calls of CUDA stay CUDA's,
 * and memory from them may be freed by cudaFree as ever: what mam does not own goes to the CUDA runtime.
 *
 * What stays as it was:
 *   - Both return cudaError_t. When mam has no memory left, the CUDA runtime is asked, so that the answer and the pending
 *     error are its own. Mistakes (a second free, an inner address) are refused by the runtime too.
 *   - cudaFree waits until work submitted to the device is done (MAM_FREE=stream: it does not).
 *   - cudaMalloc of 0 bytes: success and a null pointer. cudaFree(0) initialises CUDA.
 *   - Typed pointers in C++ (float **), cudaMalloc as a function pointer, kernels that call cudaMalloc themselves.
 *   - cudaDeviceReset takes all device memory with it, mam's included: afterwards a new pool begins.
 *
 * A block from mam is freed in any file that includes this header or calls mam_free(), not by a cudaFree elsewhere.
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

/* Under nvcc, code of kernels keeps CUDA's own calls for kernels. */
#if defined(__CUDACC__)
#define MAM_CUDA_CALL static __inline__ __host__ __device__
#define MAM_CUDA_HOST static __inline__ __host__
#else
#define MAM_CUDA_CALL static __inline__
#define MAM_CUDA_HOST static __inline__
#endif

/*
 * The default pool of the current device. NULL: there is none, and the CUDA runtime answers for itself.
 * The first time, and again when that pool is another one than before (cudaDeviceReset), the runtime sets up the
 * device's primary context first, so that pool and runtime share it.
 */
MAM_CUDA_HOST struct mam_pool *mam_cuda_pool(void)
{
	static struct mam_pool *seen[MAM_CUDA_DEVICES];
	struct mam_pool *pool;
	int device;

	if (cudaGetDevice(&device) != cudaSuccess || device < 0 || device >= MAM_CUDA_DEVICES)
		return NULL;
	pool = __atomic_load_n(&seen[device], __ATOMIC_ACQUIRE);
	if (!pool && cudaFree(NULL) != cudaSuccess)
		return NULL;
	return NULL;
}
