/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_crw.h - an adapter of mam bench device: the clustered random walk, one page of a fixed
 * size per call.
 */
#ifndef MAM_BENCH_PAPERS_WALK_DEVICE_CRW_H
#define MAM_BENCH_PAPERS_WALK_DEVICE_CRW_H

#include "bench/papers/walk/crw.h"
#include "bench/papers/walk/device_pages.h"

BENCH_PAGES(crw)

#endif
