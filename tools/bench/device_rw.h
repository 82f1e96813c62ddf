/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_rw.h - an adapter of mam bench device: the random walk over flags, one page of a fixed
 * size per call.
 */
#ifndef MAM_TOOLS_BENCH_DEVICE_RW_H
#define MAM_TOOLS_BENCH_DEVICE_RW_H

#include "heap/published/rw.h"
#include "bench/device_pages.h"

BENCH_PAGES(rw)

#endif
