/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xmalloc_cuda_coalesce.cu - the kernels of `mam bench xmalloc` over CUDA's own malloc, coalesced only.
 */
#define XMALLOC_BASE XMALLOC_BASE_CUDA
#define XMALLOC_BUFFERED 0

#include "bench/papers/xmalloc/adapter.h"
#include "bench/papers/xmalloc/kernels.h"
