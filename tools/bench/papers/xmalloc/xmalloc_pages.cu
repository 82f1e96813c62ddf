/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xmalloc_pages.cu - the kernels of `mam bench xmalloc` over a heap of pages, one request per lane.
 */
#define XMALLOC_BASE XMALLOC_BASE_PAGES
#define XMALLOC_BUFFERED 0
#define XMALLOC_WAY MAM_WAY_BASE

/* See device_mam.cu. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ % 100 == 0 && __CUDA_ARCH__ < 1100
#define DEVICE_RESIDENT 8
#endif

#include "bench/papers/xmalloc/adapter.h"
#include "bench/papers/xmalloc/kernels.h"
