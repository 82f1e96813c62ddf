/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_lists.h - a vertex's list of neighbors in kernels of `mam bench case` (graph.h): its lock,
 * how it grows and shrinks, and how the warp searches it for a neighbor.
 *
 * Arrays double when they are full and are halved when a quarter is in use. With GRAPH_CHUNKS a
 * list is a chain of chunks of job->least bytes, the newest first.
 *
 * Invariants: only the holder of a vertex's lock accesses its list, count and room. For arrays,
 * count <= room. All chunks except the first are full, and the first is not empty.
 */
#ifndef MAM_TOOLS_BENCH_CASES_GRAPH_LISTS_H
#define MAM_TOOLS_BENCH_CASES_GRAPH_LISTS_H

#include "bench/papers/cases/ask.h"
#include "bench/papers/cases/graph/graph_edges.h"

/* False if all capacity is reserved in advance: lists are then never full and never shrink. */
#ifndef GRAPH_GROWS
#define GRAPH_GROWS true
#endif

struct graph_chunk {
	uint64_t next; /* 0: none */
	uint64_t entries[];
};

/* The memory that a lane with a lock must allocate or free. */
struct graph_change {
	uint32_t wanted; /* bytes; 0: nothing */
	void *old;       /* NULL: none */
	uint32_t old_bytes;
};

MAM_KFN struct graph_vertex *graph_vertices(const struct device_job *job)
{
	return (struct graph_vertex *)(uintptr_t)job->own[0];
}

MAM_KFN bool graph_has_chunks(const struct device_job *job)
{
	return (job->flags & GRAPH_CHUNKS) != 0;
}

/* Capacity of a chunk in neighbors. */
MAM_KFN uint32_t graph_chunk_room(const struct device_job *job)
{
	return job->min / (uint32_t)sizeof(uint64_t) - 1;
}

/*
 * All lanes of the warp must call it. Returns true if this lane, and no other, has locked the
 * vertex.
 */
MAM_KFN bool graph_lock(struct graph_vertex *vertex, uint32_t number, bool going)
{
	const uint32_t all = UINT32_MAX, lane = mam_lane();
	const uint32_t same = mam_warp_match32(all, going ? number : ~lane);
	bool won = false;

	if (going && mam_ffs32(same) - 1 == lane &&
	    mam_atomic_load32(&vertex->lock, MAM_RELAXED, MAM_AT_DEVICE) == 0)
		won = mam_atomic_cas32(&vertex->lock, 0, 1, MAM_ACQUIRE, MAM_AT_DEVICE) == 0;
	return won;
}

MAM_KFN void graph_unlock(struct graph_vertex *vertex)
{
	mam_atomic_store32(&vertex->lock, 0, MAM_RELEASE, MAM_AT_DEVICE);
}

/* All lanes of the warp must call it. Allocates the bytes that each lane wants, if any. */
MAM_KFN void *graph_ask(const struct device_job *job, uint32_t wanted)
{
	const uint32_t all = UINT32_MAX;
	const uint32_t askers = mam_warp_ballot(all, wanted > 0);
	void *fresh = NULL;

	if (askers >> mam_lane() & 1)
		fresh = case_alloc(job->heap, case_told_of(job), job->flags, wanted);
	return fresh;
}

MAM_KFN void graph_give(const struct device_job *job, const struct graph_change *change)
{
	const uint32_t all = UINT32_MAX;
	const uint32_t givers = mam_warp_ballot(all, change->old != NULL);

	if (givers >> mam_lane() & 1)
		case_free(job->heap, case_told_of(job), job->flags, change->old, change->old_bytes);
}

/* ---- with the lock held ---- */

/* Makes `fresh`, with capacity for `room` neighbors, the vertex's array. */
MAM_KFN void graph_replace(struct graph_vertex *vertex, uint64_t *fresh, uint32_t room,
			   struct graph_change *change)
{
	const uint64_t *list = (const uint64_t *)(uintptr_t)vertex->list;
	uint32_t i;

	for (i = 0; i < vertex->count; i++)
		fresh[i] = list[i];
	change->old = (void *)(uintptr_t)vertex->list;
	change->old_bytes = vertex->room * (uint32_t)sizeof(uint64_t);
	vertex->list = (uint64_t)(uintptr_t)fresh;
	vertex->room = room;
}

/* Bytes that one more neighbor needs. */
MAM_KFN uint32_t graph_wants(const struct device_job *job, const struct graph_vertex *vertex)
{
	if (graph_has_chunks(job))
		return vertex->count % graph_chunk_room(job) == 0 ? job->min : 0;
	if (vertex->count < vertex->room)
		return 0;
	return (vertex->room > 0 ? vertex->room * 2 : GRAPH_MIN) * (uint32_t)sizeof(uint64_t);
}

/* Adds a neighbor; `fresh` is the memory allocated for graph_wants(), if any. */
MAM_KFN void graph_put(const struct device_job *job, struct graph_vertex *vertex, uint64_t entry,
		       void *fresh, struct graph_change *change)
{
	if (graph_has_chunks(job)) {
		struct graph_chunk *chunk = (struct graph_chunk *)fresh;

		if (chunk != NULL) {
			chunk->next = vertex->list;
			vertex->list = (uint64_t)(uintptr_t)chunk;
		}
		chunk = (struct graph_chunk *)(uintptr_t)vertex->list;
		chunk->entries[vertex->count % graph_chunk_room(job)] = entry;
	} else {
		if (fresh != NULL)
			graph_replace(vertex, (uint64_t *)fresh,
				      change->wanted / (uint32_t)sizeof(uint64_t), change);
		((uint64_t *)(uintptr_t)vertex->list)[vertex->count] = entry;
	}
	vertex->count++;
}

/* Removes the neighbor at `place`, and sets *change to how the list must change. */
MAM_KFN void graph_drop(struct graph_vertex *vertex, uint64_t *place, struct graph_change *change)
{
	uint64_t *const list = (uint64_t *)(uintptr_t)vertex->list;

	*place = list[--vertex->count];
	if (!GRAPH_GROWS)
		return;
	if (vertex->count == 0) {
		change->old = list;
		change->old_bytes = vertex->room * (uint32_t)sizeof(uint64_t);
		vertex->list = 0;
		vertex->room = 0;
	} else if (vertex->room > GRAPH_MIN && vertex->count <= vertex->room / 4) {
		change->wanted = vertex->room / 2 * (uint32_t)sizeof(uint64_t);
	}
}

/* The same for chunks. */
MAM_KFN void graph_drop_chained(const struct device_job *job, struct graph_vertex *vertex,
				uint64_t *place, struct graph_change *change)
{
	struct graph_chunk *const first = (struct graph_chunk *)(uintptr_t)vertex->list;
	const uint32_t last = --vertex->count % graph_chunk_room(job);

	*place = first->entries[last];
	if (last == 0) {
		vertex->list = first->next;
		change->old = first;
		change->old_bytes = job->min;
	}
}

/* ---- searching for a neighbor ---- */

/*
 * The warp searches one array. All lanes pass the same arguments. Returns NULL if it is not found.
 */
MAM_KFN uint64_t *graph_scan(uint64_t *entries, uint32_t count, uint64_t entry)
{
	const uint32_t all = UINT32_MAX;
	uint32_t from, hits;

	for (from = 0; from < count; from += DEVICE_WARP) {
		const uint32_t at = from + mam_lane();
		const bool is_it = at < count && entries[at] == entry;

		hits = mam_warp_ballot(all, is_it);
		if (hits != 0)
			return &entries[from + mam_ffs32(hits) - 1];
	}
	return NULL;
}

/* The same for a list of either kind. */
MAM_KFN uint64_t *graph_scan_list(const struct device_job *job, uint64_t list, uint32_t count,
				  uint64_t entry)
{
	const uint32_t room = graph_chunk_room(job);
	struct graph_chunk *chunk = (struct graph_chunk *)(uintptr_t)list;
	uint32_t here = (count - 1) % room + 1;
	uint64_t *place = NULL;

	if (!graph_has_chunks(job))
		return graph_scan((uint64_t *)(uintptr_t)list, count, entry);
	while (chunk != NULL && place == NULL) {
		place = graph_scan(chunk->entries, here, entry);
		chunk = (struct graph_chunk *)(uintptr_t)chunk->next;
		here = room;
	}
	return place;
}

/*
 * All lanes of the warp must call it. A lane that has `won` a vertex's lock gets the place of an
 * entry in its list, or NULL if it is not found. Short lists, which are the majority, are searched
 * by their lanes in parallel, long ones one after another by the whole warp.
 */
MAM_KFN uint64_t *graph_seek(const struct device_job *job, const struct graph_vertex *vertex,
			     uint64_t entry, bool won)
{
	const uint32_t all = UINT32_MAX, lane = mam_lane(), room = graph_chunk_room(job);
	const uint32_t count = won ? vertex->count : 0;
	const uint64_t list = won ? vertex->list : 0;
	uint64_t *entries = (uint64_t *)(uintptr_t)list, *place = NULL;
	uint32_t longs = mam_warp_ballot(all, count > room), i;

	if (count > 0 && count <= room) {
		if (graph_has_chunks(job))
			entries = ((struct graph_chunk *)(uintptr_t)list)->entries;
		for (i = 0; i < count && place == NULL; i++)
			place = entries[i] == entry ? &entries[i] : NULL;
	}
	/* Makes the data that a lane acquired with its lock visible to the others. */
	mam_warp_sync(all);
	for (; longs != 0; longs &= longs - 1) {
		const uint32_t whose = mam_ffs32(longs) - 1;
		const uint64_t its_list = mam_warp_shuffle64(all, list, whose);
		const uint64_t its_entry = mam_warp_shuffle64(all, entry, whose);
		const uint32_t its_count = mam_warp_shuffle32(all, count, whose);
		uint64_t *const found = graph_scan_list(job, its_list, its_count, its_entry);

		place = lane == whose ? found : place;
	}
	/* No lane may change a list while others still search it. */
	mam_warp_sync(all);
	return place;
}

#endif
