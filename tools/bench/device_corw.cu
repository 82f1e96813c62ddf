/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_corw.cu - the kernels of `mam bench device` over the allocator published as corw.
 */
#include "bench/device_corw.h"
#include "bench/device_kernels.h"
#include "bench/device_kernels_more.h"
