/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.h - kernels of `mam bench case` that change a graph: edges come and go, and each vertex has a
 * list of neighbours that grows and shrinks with them.
 *
 * Lists are arrays that are replaced by larger and smaller ones, or, with GRAPH_CHUNKS, where memory comes
 * in pages, chains of chunks (graph_lists.h).
 *
 * 1. A lane has an edge. Of a warp's lanes that want the same vertex the lowest tries its lock; who does
 *    not get it tries again when all of the warp have come round: nobody waits for a lane of its own
 *    warp, and those that need memory ask for it together.
 * 2. Who has the lock adds the edge's entry at the end, or looks for it, all of the warp with him where
 *    the list is long, and puts the last one into its place; replaces the list where that is due; and
 *    lets go.
 * 3. What was replaced goes back.
 * A list that cannot grow loses that edge; one that cannot shrink stays.
 *
 * Bound: a lane's work is that of one vertex's list, and of those in front of it at the lock.
 * Invariants: an edge is added by one lane, and taken away by one of a later kernel.
 *
 * job: `askers` edges in `rounds` batches, `count` the round; own[0] the vertices, own[1] how many;
 * `seed` the edges that the lanes are to see at most.
 */
#ifndef MAM_TOOLS_BENCH_CASES_GRAPH_H
#define MAM_TOOLS_BENCH_CASES_GRAPH_H

#include "bench/cases/graph_lists.h"

#define GRAPH_BLOCK 256
#define GRAPH_PAUSE 200 /* ns, of a warp that found nothing but locks */

/* A lane for each edge of the batch. */
MAM_KFN void case_graph_insert(const struct device_job *job)
{
	const uint32_t all = UINT32_MAX, batch = job->askers / job->rounds, at = device_thread();
	const uint32_t vertices = (uint32_t)job->own[1], edge = batch * job->count + at;
	const uint32_t number = graph_from(edge, vertices);
	struct graph_vertex *const vertex = graph_vertices(job) + number;
	/* Where memory is short no walk through all of a heap is begun for each edge that is left. */
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

/* A lane for each edge that has come; those go whose round it is. */
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

/* Of a list, what the host compares. */
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

/* A lane for each vertex. */
MAM_KFN void case_graph_look(const struct device_job *job)
{
	const uint32_t number = device_thread();

	if (number >= job->own[1])
		return;
	device_tell(&case_told_of(job)->sum, graph_sum_of(job, number));
	device_tell(&case_told_of(job)->count, graph_vertices(job)[number].count);
}
CASE_KERNEL(graph_look, case_graph_look, GRAPH_BLOCK)

/* All lists go back; a lane for each vertex. */
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
			change.old_bytes = job->least;
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
