/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.h - the kernels of a module of `mam bench case`, those of all cases, over the allocator
 * that CASE_ALLOC and CASE_FREE name (ask.h).
 */
#ifndef MAM_TOOLS_BENCH_CASES_KERNELS_H
#define MAM_TOOLS_BENCH_CASES_KERNELS_H

#include "bench/papers/cases/ask.h"
#include "bench/papers/cases/graph/graph.h"
#include "bench/papers/cases/group/group.h"
#include "bench/papers/cases/join/join.h"
#include "bench/papers/cases/octree/octree.h"

#define CASE_KERNELS(each)        \
	CASE_HEAP_KERNELS(each)   \
	CASE_GRAPH_KERNELS(each)  \
	CASE_GROUP_KERNELS(each)  \
	CASE_OCTREE_KERNELS(each) \
	JOIN_KERNELS(each)

#endif
