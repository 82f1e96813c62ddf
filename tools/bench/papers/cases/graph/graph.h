/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.h - kernels of `mam bench case` that change a graph: edges are inserted and deleted, and
 * each vertex has a list of neighbors that grows and shrinks accordingly.
 *
 * Lists are arrays that are replaced by larger and smaller ones or, with GRAPH_CHUNKS, where the
 * allocator returns pages, chains of chunks (graph_lists.h).
 *
 * 1. Each lane has one edge. If several lanes of a warp want the same vertex, the lowest tries its
 *    lock. A lane that fails retries after the whole warp has completed the round: no lane waits
 *    for a lane of its own warp, and the lanes that need memory request it together.
 * 2. The lane that holds the lock appends the edge's entry, or searches for it (with the whole warp
 *    if the list is long) and moves the last entry into its place. It replaces the list if
 *    necessary and releases the lock.
 * 3. It frees the replaced array or chunk.
 * If a list cannot grow, its edge is lost; if it cannot shrink, it stays.
 *
 * Bound: a lane's work is that of one vertex's list, plus that of the lanes ahead of it at the
 * lock.
 * Invariants: an edge is inserted by one lane, and deleted by one lane of a later kernel.
 *
 * job: `askers` edges in `rounds` batches, `count` the current round; own[0] the vertices, own[1]
 * their number; `seed` the maximum number of edges that the lanes process.
 */
#ifndef MAM_TOOLS_BENCH_CASES_GRAPH_H
#define MAM_TOOLS_BENCH_CASES_GRAPH_H

#include "bench/papers/cases/graph/graph_lists.h"

#define GRAPH_BLOCK 256
#define GRAPH_PAUSE 200 /* ns, of a warp that found only held locks */

/* One lane per edge of the batch. */
MAM_KFN void case_graph_insert(const struct device_job *job)
{
	const uint32_t all = UINT32_MAX, batch = job->askers / job->rounds, at = device_thread();
	const uint32_t vertices = (uint32_t)job->own[1], edge = batch * job->count + at;
	const uint32_t number = graph_from(edge, vertices);
	struct graph_vertex *const vertex = graph_vertices(job) + number;
	/* When memory is short, do not start a full search of the heap for every remaining edge. */
	bool going = at < batch &&
		     mam_atomic_load64(&case_told_of(job)->none, MAM_RELAXED, MAM_AT_DEVICE) == 0;

	while (mam_warp_ballot(all, going) != 0) {
		const bool won = graph_lock(vertex, number, going);
		struct graph_change change = { 0, NULL, 0 };
		void *fresh;

		if (won)
			change.wanted = graph_wants(job, vertex);
		fresh = graph_ask(job, change.wanted);
		if (won) {
			if (change.wanted == 0 || fresh != NULL)
				graph_put(job, vertex, graph_entry(edge, vertices), fresh, &change);
			graph_unlock(vertex);
			going = false;
		}
		graph_give(job, &change);
		if (mam_warp_ballot(all, won) == 0)
			mam_nanosleep(GRAPH_PAUSE);
	}
}
CASE_KERNEL(graph_insert, case_graph_insert, GRAPH_BLOCK)

/* One lane per inserted edge; deletes those that are due in this round. */
MAM_KFN void case_graph_delete(const struct device_job *job)
{
	const uint32_t all = UINT32_MAX, edge = device_thread();
	const uint32_t vertices = (uint32_t)job->own[1];
	const uint32_t number = graph_from(edge, vertices);
	const uint64_t entry = graph_entry(edge, vertices);
	struct graph_vertex *const vertex = graph_vertices(job) + number;
	bool going = edge < job->seed && graph_goes(edge, job->askers, job->rounds) == job->count;

	while (mam_warp_ballot(all, going) != 0) {
		const bool won = graph_lock(vertex, number, going);
		struct graph_change change = { 0, NULL, 0 };
		uint64_t *place;
		void *fresh;

		place = graph_seek(job, vertex, entry, won);
		if (place != NULL) {
			if (graph_has_chunks(job))
				graph_drop_chained(job, vertex, place, &change);
			else
				graph_drop(vertex, place, &change);
		}
		fresh = graph_ask(job, change.wanted);
		if (fresh != NULL)
			graph_replace(vertex, (uint64_t *)fresh, vertex->room / 2, &change);
		if (won) {
			graph_unlock(vertex);
			going = false;
		}
		graph_give(job, &change);
		if (mam_warp_ballot(all, won) == 0)
			mam_nanosleep(GRAPH_PAUSE);
	}
}
CASE_KERNEL(graph_delete, case_graph_delete, GRAPH_BLOCK)

/* The checksum of a list, which the host compares. */
MAM_KFN uint64_t graph_sum_of(const struct device_job *job, uint32_t number)
{
	const struct graph_vertex *const vertex = graph_vertices(job) + number;
	const uint32_t room = graph_chunk_room(job);
	const struct graph_chunk *chunk;
	uint32_t count = vertex->count, i;
	uint64_t sum = 0;

	if (!graph_has_chunks(job)) {
		for (i = 0; i < count; i++)
			sum += graph_value(number, ((const uint64_t *)(uintptr_t)vertex->list)[i]);
		return sum;
	}
	for (chunk = (const struct graph_chunk *)(uintptr_t)vertex->list; chunk != NULL;
	     chunk = (const struct graph_chunk *)(uintptr_t)chunk->next) {
		const uint32_t here = (count - 1) % room + 1;

		for (i = 0; i < here; i++)
			sum += graph_value(number, chunk->entries[i]);
		count -= here;
	}
	return sum;
}

/* One lane per vertex. */
MAM_KFN void case_graph_look(const struct device_job *job)
{
	const uint32_t number = device_thread();

	if (number >= job->own[1])
		return;
	device_report(&case_told_of(job)->sum, graph_sum_of(job, number));
	device_report(&case_told_of(job)->count, graph_vertices(job)[number].count);
}
CASE_KERNEL(graph_look, case_graph_look, GRAPH_BLOCK)

/* Frees all lists; one lane per vertex. */
MAM_KFN void case_graph_clear(const struct device_job *job)
{
	const uint32_t all = UINT32_MAX, number = device_thread();
	struct graph_change change = { 0, NULL, 0 };
	uint64_t list = 0;

	if (number < job->own[1]) {
		list = graph_vertices(job)[number].list;
		change.old_bytes = graph_vertices(job)[number].room * (uint32_t)sizeof(uint64_t);
	}
	while (mam_warp_ballot(all, list != 0) != 0) {
		change.old = (void *)(uintptr_t)list;
		if (graph_has_chunks(job) && list != 0) {
			change.old_bytes = job->min;
			list = ((const struct graph_chunk *)(uintptr_t)list)->next;
		} else {
			list = 0;
		}
		graph_give(job, &change);
	}
}
CASE_KERNEL(graph_clear, case_graph_clear, GRAPH_BLOCK)

#define CASE_GRAPH_KERNELS(each) \
	each(graph_insert) each(graph_delete) each(graph_look) each(graph_clear)

#endif
