/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_mam.cu - the kernels of `mam bench device` over mam's own objects.
 */
#include "bench/device_mam.h"
#include "bench/device_kernels.h"
#include "bench/device_kernels_more.h"
