/* SPDX-License-Identifier: Apache-2.0 */
/*
 * case_corw.cu - the kernels of `mam bench case` over the collaborative random walk, one page per
 * request.
 */
#include "bench/papers/walk/corw.h"
#include "bench/papers/cases/pages.h"

CASE_PAGES(corw)
#include "bench/papers/cases/kernels.h"
