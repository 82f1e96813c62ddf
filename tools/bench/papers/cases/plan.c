/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.c - the cases of `mam bench case`, and the allocators that take part in each. Each case's
 * file has its cells and how they are run.
 */
#include <mam/heap.h>
#include <string.h>

#include "cases.h"

#define SECOND UINT64_C(1000000000)

const struct device_effort case_efforts[CASE_EFFORTS] = {
	{ "full", 7, 1, 1, 200 * SECOND, UINT32_MAX, UINT64_MAX, true },
	{ "quick", 3, 1, 1, 50 * SECOND, UINT32_MAX, UINT64_MAX, false },
	{ "smoke", 1, 0, 1, 30 * SECOND, 20000, 64 * (uint64_t)BENCH_MIB, true },
};

const struct device_work case_works[CASE_WORKS] = {
	[CASE_JOIN] = { "join", "a hash join", case_plan_join, case_play_join },
	[CASE_GROUP] = { "group", "a group-by", case_plan_group, case_play_group },
	[CASE_OCTREE] = { "octree", "a Barnes-Hut octree", case_plan_octree, case_play_octree },
	[CASE_GRAPH] = { "graph", "a graph that changes", case_plan_graph, case_play_graph },
};

/*
 * Includes the cost of metadata and slabs, and the part of a nearly full heap that cannot be
 * allocated.
 */
uint64_t case_heap_bytes(uint64_t need, uint32_t share)
{
	return need * 1000 / share * 11 / 10 + 16 * (uint64_t)BENCH_MIB;
}

void case_plan_make(struct device_plan *plan)
{
	size_t i;

	plan->count = 0;
	for (i = 0; i < CASE_WORKS; i++)
		case_works[i].plan(plan);
}

/* CUDA's malloc would take hours to fill a heap, and minutes for sizes above CUDA_MAX. */
#define CUDA_MAX (UINT32_C(1) << 20)

bool case_takes_part(const struct device_allocator *allocator, const struct device_cell *cell)
{
	if (strcmp(allocator->name, CASE_MAM_PAGES) == 0)
		return cell->min >= MAM_HEAP_PAGE_MIN;
	if (strcmp(allocator->name, CASE_COMPACT) == 0)
		return cell->work == CASE_GROUP;
	if (allocator->slow)
		return cell->share == 1000 && cell->filled <= CUDA_MAX;
	return true;
}

/* One place per page of a heap that must be in use. */
uint64_t case_places(const struct device_cell *cell)
{
	return cell->share < 1000 ? cell->heap_bytes / cell->min + DEVICE_WARP : DEVICE_BLOCK;
}

void case_shrink(struct device_cell *cell, uint32_t max)
{
	if (cell->filled > max)
		cell->filled = max;
}
