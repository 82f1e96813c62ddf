/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kma_mam.cu - the kernels of `mam bench kma` over mam's own objects.
 */
#include "coalesce/base.h"

/* See device_mam.cu. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ % 100 == 0 && __CUDA_ARCH__ < 1100
#define DEVICE_RESIDENT 8
#endif

#define KMA_BASE(base, heap) const struct mam_kbase base = mam_base_heap((struct mam_kheap *)(heap))
#include "bench/papers/kma/kernels.h"
