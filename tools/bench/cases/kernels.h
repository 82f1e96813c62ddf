/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.h - the kernels of a module of `mam bench case`, those of all cases, over the allocator
 * that CASE_ALLOC and CASE_FREE name (ask.h).
 */
#ifndef MAM_TOOLS_BENCH_CASES_KERNELS_H
#define MAM_TOOLS_BENCH_CASES_KERNELS_H

#include "bench/cases/ask.h"
#include "bench/cases/graph.h"
#include "bench/cases/group.h"
#include "bench/cases/join.h"
#include "bench/cases/octree.h"

#define CASE_KERNELS(each)                                                                     \
	CASE_HEAP_KERNELS(each)                                                                \
	CASE_GRAPH_KERNELS(each)                                                               \
	CASE_GROUP_KERNELS(each)                                                               \
	CASE_OCTREE_KERNELS(each)                                                              \
	JOIN_KERNELS(each)

#endif
