/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_cuda.cu - the kernels of `mam bench device` over CUDA's own malloc.
 */
#include "bench/device/device_cuda.h"
#include "bench/device/device_kernels.h"
#include "bench/device/device_kernels_more.h"
