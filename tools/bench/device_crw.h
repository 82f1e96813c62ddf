/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_crw.h - an adapter of mam bench device: the clustered random walk, one page of a fixed
 * size per call.
 */
#ifndef MAM_TOOLS_BENCH_DEVICE_CRW_H
#define MAM_TOOLS_BENCH_DEVICE_CRW_H

#include "heap/published/crw.h"
#include "bench/device_pages.h"

BENCH_PAGES(crw)

#endif
