/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xmalloc_pages_coalesce.cu - the kernels of `mam bench xmalloc` over a heap of pages, coalesced only.
 */
#define XMALLOC_BASE XMALLOC_BASE_PAGES
#define XMALLOC_BUFFERED 0

/* See device_mam.cu. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ % 100 == 0 && __CUDA_ARCH__ < 1100
#define DEVICE_RESIDENT 8
#endif

#include "bench/papers/xmalloc/adapter.h"
#include "bench/papers/xmalloc/kernels.h"
