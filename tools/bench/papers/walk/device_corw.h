/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_corw.h - an adapter of mam bench device: the collaborative random walk, one page of a
 * fixed size per call.
 */
#ifndef MAM_BENCH_PAPERS_WALK_DEVICE_CORW_H
#define MAM_BENCH_PAPERS_WALK_DEVICE_CORW_H

#include "bench/papers/walk/corw.h"
#include "bench/papers/walk/device_pages.h"

BENCH_PAGES(corw)

#endif
