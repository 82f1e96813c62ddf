/* SPDX-License-Identifier: Apache-2.0 */
/*
 * case_reserved.cu - the kernels of `mam bench case` without an allocator.
 */
#include "heap/port.h"
#include "bench/cases/kernels_reserved.h"
