/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kma_cuda.cu - the kernels of `mam bench kma` over CUDA's own malloc.
 */
#include "coalesce/base.h"

#define KMA_BASE(base, heap) const struct mam_kbase base = ((void)(heap), mam_base_cuda())
#include "bench/papers/kma/kernels.h"
