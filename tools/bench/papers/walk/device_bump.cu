/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_bump.cu - the kernels of `mam bench device` over a bare counter.
 */
#include "bench/papers/walk/device_bump.h"
#include "bench/device/device_kernels.h"
#include "bench/device/device_kernels_more.h"
