/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_bumpw.cu - the kernels of `mam bench device` over a bare counter.
 */
#include "bench/papers/walk/device_bumpw.h"
#include "bench/device/device_kernels.h"
#include "bench/device/device_kernels_more.h"
