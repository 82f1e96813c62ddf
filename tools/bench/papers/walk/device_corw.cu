/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_corw.cu - the kernels of `mam bench device` over the allocator published as corw.
 */
#include "bench/papers/walk/device_corw.h"
#include "bench/device/device_kernels.h"
#include "bench/device/device_kernels_more.h"
