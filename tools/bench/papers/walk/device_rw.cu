/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_rw.cu - the kernels of `mam bench device` over the allocator published as rw.
 */
#include "bench/papers/walk/device_rw.h"
#include "bench/device/device_kernels.h"
#include "bench/device/device_kernels_more.h"
