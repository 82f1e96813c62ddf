/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_runtime_api.h - replaces the toolkit's header of this name if there is no toolkit: the
 * declarations that <mam/cuda.h> and its test need, as in the fake runtime.
 */
#ifndef MAM_TESTS_PORTS_CUDA_RUNTIME_API_H
#define MAM_TESTS_PORTS_CUDA_RUNTIME_API_H

#include "../../fake/runtime_api.h"

typedef int cudaError_t;
typedef struct CUstream_st *cudaStream_t;

#endif
