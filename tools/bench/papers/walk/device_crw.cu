/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_crw.cu - the kernels of `mam bench device` over the allocator published as crw.
 */
#include "bench/papers/walk/device_crw.h"
#include "bench/device/device_kernels.h"
#include "bench/device/device_kernels_more.h"
