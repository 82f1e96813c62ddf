/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_reserved.h - the same graph (graph.h) without an allocator: all insertions and deletions
 * are known in advance, and each vertex gets an array for its peak number of neighbors.
 *
 * 1. For each round, count the insertions at each vertex, update the maximum, and subtract the
 *    deletions.
 * 2. Assign that many consecutive places to each vertex; the host allocates memory for all of them.
 * 3. Run the same insertions and deletions, in arrays that have room.
 */
#ifndef MAM_TOOLS_BENCH_CASES_GRAPH_RESERVED_H
#define MAM_TOOLS_BENCH_CASES_GRAPH_RESERVED_H

#define GRAPH_GROWS false
#include "bench/papers/cases/graph/graph.h"

/* One lane per edge of the batch. */
MAM_KFN void case_graph_expect(const struct device_job *job)
{
	const uint32_t batch = job->askers / job->rounds, at = device_thread();
	const uint32_t number = graph_from(batch * job->count + at, (uint32_t)job->own[1]);

	if (at < batch)
		(void)mam_atomic_add32(&graph_vertices(job)[number].count, 1, MAM_RELAXED,
				       MAM_AT_DEVICE);
}
CASE_KERNEL(graph_expect, case_graph_expect, GRAPH_BLOCK)

/* One lane per vertex, between insertions and deletions. */
MAM_KFN void case_graph_max(const struct device_job *job)
{
	const uint32_t number = device_thread();
	struct graph_vertex *const vertex = graph_vertices(job) + number;

	if (number < job->own[1] && vertex->max < vertex->count)
		vertex->max = vertex->count;
}
CASE_KERNEL(graph_max, case_graph_max, GRAPH_BLOCK)

/* One lane per inserted edge. */
MAM_KFN void case_graph_miss(const struct device_job *job)
{
	const uint32_t edge = device_thread();
	const uint32_t number = graph_from(edge, (uint32_t)job->own[1]);

	if (edge < job->seed && graph_goes(edge, job->askers, job->rounds) == job->count)
		(void)mam_atomic_add32(&graph_vertices(job)[number].count, UINT32_MAX, MAM_RELAXED,
				       MAM_AT_DEVICE);
}
CASE_KERNEL(graph_miss, case_graph_miss, GRAPH_BLOCK)

/*
 * Reserves places for each vertex's neighbors with the counter in own[2]; one atomic per warp, as
 * all warps share the word.
 */
MAM_KFN void case_graph_room(const struct device_job *job)
{
	const uint32_t all = UINT32_MAX, lane = mam_lane(), number = device_thread();
	struct graph_vertex *const vertex = graph_vertices(job) + number;
	const uint32_t max = number < job->own[1] ? vertex->max : 0;
	uint64_t upto = max, first = 0;
	uint32_t step;

	for (step = 1; step < DEVICE_WARP; step *= 2) {
		const uint64_t other =
			mam_warp_shuffle64(all, upto, lane >= step ? lane - step : lane);

		upto += lane >= step ? other : 0;
	}
	if (lane == DEVICE_WARP - 1)
		first = mam_atomic_add64((uint64_t *)(uintptr_t)job->own[2], upto, MAM_RELAXED,
					 MAM_AT_DEVICE);
	first = mam_warp_shuffle64(all, first, DEVICE_WARP - 1);
	if (number < job->own[1])
		vertex->list = first + upto - max;
}
CASE_KERNEL(graph_room, case_graph_room, GRAPH_BLOCK)

/* The places are in own[3]. */
MAM_KFN void case_graph_assign(const struct device_job *job)
{
	const uint32_t number = device_thread();
	struct graph_vertex *const vertex = graph_vertices(job) + number;

	if (number >= job->own[1])
		return;
	vertex->list = job->own[3] + vertex->list * sizeof(uint64_t);
	vertex->room = vertex->max;
	vertex->count = 0;
}
CASE_KERNEL(graph_assign, case_graph_assign, GRAPH_BLOCK)

#define CASE_GRAPH_RESERVED_KERNELS(each) \
	CASE_GRAPH_KERNELS(each)          \
	each(graph_expect) each(graph_max) each(graph_miss) each(graph_room) each(graph_assign)

#endif
