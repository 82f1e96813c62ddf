/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xmalloc_cuda_buffers.cu - the kernels of `mam bench xmalloc` over CUDA's own malloc, with buffers.
 */
#define XMALLOC_BASE XMALLOC_BASE_CUDA
#define XMALLOC_BUFFERED 1

#include "bench/papers/xmalloc/adapter.h"
#include "bench/papers/xmalloc/kernels.h"
