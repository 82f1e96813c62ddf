/* SPDX-License-Identifier: Apache-2.0 */
/*
 * case_rw.cu - the kernels of `mam bench case` over the random walk over flags, one page per
 * request.
 */
#include "heap/published/rw.h"
#include "bench/cases/pages.h"

CASE_PAGES(rw)
#include "bench/cases/kernels.h"
