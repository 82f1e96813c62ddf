/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_rw.cu - the kernels of `mam bench device` over the allocator published as rw.
 */
#include "bench/device_rw.h"
#include "bench/device_kernels.h"
#include "bench/device_kernels_more.h"
