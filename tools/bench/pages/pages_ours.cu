/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_ours.cu - the kernels of `mam bench pages` over mam's own page allocator.
 */

/* As many warps as the larger GPUs' SMs can hold: 2,048 threads, 32 registers each. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ % 100 == 0 && __CUDA_ARCH__ < 1100
#define PAGES_RESIDENT 8
#endif

#include "heap/pages/pages.h"
#include "bench/pages/pages_calls.h"

PAGES_ONE(mam, struct mam_pages, struct mam_kwalk, mam_kwalk_start, mam_pages_take, mam_pages_give)
PAGES_RUNS(mam, struct mam_pages, struct mam_kwalk, mam_kwalk_start, mam_pages_take_run,
	   mam_pages_give_run)
PAGES_OPEN(mam, struct mam_pages, mam_pages_give)
