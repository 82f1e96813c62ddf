/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_rwmalloc.cu - the kernels of `mam bench device` over the allocator published as rwmalloc.
 */
#include "bench/device_rwmalloc.h"
#include "bench/device_kernels.h"
#include "bench/device_kernels_more.h"
