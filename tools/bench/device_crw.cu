/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_crw.cu - the kernels of `mam bench device` over the allocator published as crw.
 */
#include "bench/device_crw.h"
#include "bench/device_kernels.h"
#include "bench/device_kernels_more.h"
