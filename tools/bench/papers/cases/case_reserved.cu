/* SPDX-License-Identifier: Apache-2.0 */
/*
 * case_reserved.cu - the kernels of `mam bench case` without an allocator.
 */
#include "device/port.h"
#include "bench/papers/cases/kernels_reserved.h"
