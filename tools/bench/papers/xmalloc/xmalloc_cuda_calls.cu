/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xmalloc_cuda_calls.cu - the kernels of `mam bench xmalloc` over CUDA's own malloc, by XMalloc's calls.
 */
#define XMALLOC_BASE XMALLOC_BASE_CUDA
#define XMALLOC_BUFFERED 1
#define XMALLOC_CALLS 1

#include "bench/papers/xmalloc/adapter.h"
#include "bench/papers/xmalloc/kernels.h"
