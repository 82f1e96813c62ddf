/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_runtime.h - replaces the toolkit's header of this name, like cuda_runtime_api.h beside it.
 * In C++ the toolkit's functions take typed pointers.
 */
#ifndef MAM_TESTS_PORTS_CUDA_RUNTIME_H
#define MAM_TESTS_PORTS_CUDA_RUNTIME_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
template <class T> static inline cudaError_t cudaMalloc(T **block, size_t bytes)
{
	return cudaMalloc((void **)(void *)block, bytes);
}
#endif

#endif
