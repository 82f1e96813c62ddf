/* SPDX-License-Identifier: Apache-2.0 */
/*
 * case_corw.cu - the kernels of `mam bench case` over the collaborative random walk, one page per
 * request.
 */
#include "heap/published/corw.h"
#include "bench/cases/pages.h"

CASE_PAGES(corw)
#include "bench/cases/kernels.h"
