/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels_reserved.h - the kernels of the module of `mam bench case` without an allocator: a first
 * pass counts the required memory, or it is reserved.
 */
#ifndef MAM_TOOLS_BENCH_CASES_KERNELS_RESERVED_H
#define MAM_TOOLS_BENCH_CASES_KERNELS_RESERVED_H

#define CASE_ALLOC(heap, bytes, steps) ((void)(heap), (void)(bytes), (void)(steps), (void *)0)
#define CASE_FREE(heap, object, bytes) ((void)(heap), (void)(object), (void)(bytes))
#include "bench/papers/cases/ask.h"
#include "bench/papers/cases/graph/graph_reserved.h"
#include "bench/papers/cases/group/group_counted.h"
#include "bench/papers/cases/join/join_counted.h"
#include "bench/papers/cases/octree/octree_reserved.h"

#define CASE_KERNELS(each)                \
	CASE_HEAP_KERNELS(each)           \
	CASE_GRAPH_RESERVED_KERNELS(each) \
	CASE_GROUP_COUNTED_KERNELS(each)  \
	CASE_OCTREE_KERNELS(each)         \
	JOINC_KERNELS(each)

#endif
