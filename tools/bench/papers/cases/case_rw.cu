/* SPDX-License-Identifier: Apache-2.0 */
/*
 * case_rw.cu - the kernels of `mam bench case` over the random walk over flags, one page per
 * request.
 */
#include "bench/papers/walk/rw.h"
#include "bench/papers/cases/pages.h"

CASE_PAGES(rw)
#include "bench/papers/cases/kernels.h"
