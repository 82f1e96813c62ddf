/* SPDX-License-Identifier: Apache-2.0 */
/*
 * case_cuda.cu - the kernels of `mam bench case` over CUDA's own malloc.
 */
#include "device/port.h"

#ifndef CASE_SYSTEM_ALLOC
#define CASE_SYSTEM_ALLOC malloc
#define CASE_SYSTEM_FREE free
#endif
#define CASE_ALLOC(heap, bytes, steps) ((void)(heap), (void)(steps), CASE_SYSTEM_ALLOC(bytes))
#define CASE_FREE(heap, object, bytes) ((void)(heap), (void)(bytes), CASE_SYSTEM_FREE(object))
#include "bench/papers/cases/kernels.h"
