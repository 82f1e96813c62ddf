/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_rwmalloc.cu - the kernels of `mam bench device` over the allocator published as rwmalloc.
 */
#include "bench/papers/walk/device_rwmalloc.h"
#include "bench/device/device_kernels.h"
#include "bench/device/device_kernels_more.h"
