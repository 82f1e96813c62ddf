/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_rw.h - an adapter of mam bench device: the random walk over flags, one page of a fixed
 * size per call.
 */
#ifndef MAM_BENCH_PAPERS_WALK_DEVICE_RW_H
#define MAM_BENCH_PAPERS_WALK_DEVICE_RW_H

#include "bench/papers/walk/rw.h"
#include "bench/papers/walk/device_pages.h"

BENCH_PAGES(rw)

#endif
