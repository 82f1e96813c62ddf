/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_corw.h - an adapter of mam bench device: the collaborative random walk, one page of a
 * fixed size per call.
 */
#ifndef MAM_TOOLS_BENCH_DEVICE_CORW_H
#define MAM_TOOLS_BENCH_DEVICE_CORW_H

#include "heap/published/corw.h"
#include "bench/device_pages.h"

BENCH_PAGES(corw)

#endif
