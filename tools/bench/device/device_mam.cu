/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_mam.cu - the kernels of `mam bench device` over mam's own objects.
 */

/*
 * As many warps as the larger GPUs' SMs can hold: 2,048 threads, 32 registers each. Only the search
 * then spills.
 */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ % 100 == 0 && __CUDA_ARCH__ < 1100
#define DEVICE_RESIDENT 8
#endif

#include "bench/device/device_mam.h"
#include "bench/device/device_kernels.h"
#include "bench/device/device_kernels_more.h"
