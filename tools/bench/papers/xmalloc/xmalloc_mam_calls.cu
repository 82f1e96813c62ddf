/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xmalloc_mam_calls.cu - the kernels of `mam bench xmalloc` over mam's own objects, by XMalloc's calls.
 */
#define XMALLOC_BASE XMALLOC_BASE_MAM
#define XMALLOC_BUFFERED 0
#define XMALLOC_CALLS 1

/* See device_mam.cu. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ % 100 == 0 && __CUDA_ARCH__ < 1100
#define DEVICE_RESIDENT 8
#endif

#include "bench/papers/xmalloc/adapter.h"
#include "bench/papers/xmalloc/kernels.h"
