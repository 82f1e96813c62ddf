/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.h - kernels of `mam bench case` that change a graph: edges come and go, and each vertex has a
 * list of neighbours that grows and shrinks with them.
 *
 * Lists are arrays: one that is full is replaced by one of twice the room, one of which a quarter is in
 * use by half of it, and the last neighbour takes it along. Or, with GRAPH_CHUNKS, where memory comes in
 * pages, chains of chunks of job->least bytes, the one begun last in front and all others full.
 *
 * 1. A lane has an edge. Of a warp's lanes that want the same vertex the lowest tries its lock; who does
 *    not get it tries again when all of the warp have come round: nobody waits for a lane of its own
 *    warp, and those that need memory ask for it together.
 * 2. Who has the lock adds the edge's entry at the end, or looks for it and puts the last one into its
 *    place; replaces the list where that is due; and lets go.
 * 3. What was replaced goes back.
 * A list that cannot grow loses that edge; one that cannot shrink stays.
 *
 * Bound: a lane's work is that of one vertex's list, and of those in front of it at the lock.
 * Invariants: a vertex's list, count and room are of who has its lock; count <= room of arrays; of
 * chunks all but the first are full. An edge is added by one lane, and taken away by one of a later
 * kernel.
 *
 * job: `askers` edges in `rounds` batches, `count` the round; own[0] the vertices, own[1] how many;
 * `seed` the edges that the lanes are to see at most.
 */
#ifndef MAM_TOOLS_BENCH_CASES_GRAPH_H
#define MAM_TOOLS_BENCH_CASES_GRAPH_H

#include "bench/cases/ask.h"
#include "bench/cases/graph_edges.h"

#define GRAPH_BLOCK 256
#define GRAPH_PAUSE 200 /* ns, of a warp that found nothing but locks */

/* False where all room is there from the start: nothing is full then, and nothing shrinks. */
#ifndef GRAPH_GROWS
#define GRAPH_GROWS true
#endif

struct graph_chunk {
	uint64_t next; /* 0: none */
	uint64_t entries[];
};

/* What somebody with a lock has to ask for, or to give back. */
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

/* Neighbours that a chunk has place for. */
MAM_KFN uint32_t graph_chunk_room(const struct device_job *job)
{
	return job->least / (uint32_t)sizeof(uint64_t) - 1;
}

/* All lanes of the warp come; true: this one has the vertex, and nobody else does. */
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

/* All lanes of the warp come. What one of them wants, if anything. */
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

/* ---- by who has the lock ---- */

/* The vertex's array becomes `fresh`, of `room` neighbours. */
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

/* Bytes that one more neighbour needs. */
MAM_KFN uint32_t graph_wants(const struct device_job *job, const struct graph_vertex *vertex)
{
	if (graph_has_chunks(job))
		return vertex->count % graph_chunk_room(job) == 0 ? job->least : 0;
	if (vertex->count < vertex->room)
		return 0;
	return (vertex->room > 0 ? vertex->room * 2 : GRAPH_LEAST) * (uint32_t)sizeof(uint64_t);
}

/* Adds a neighbour; `fresh`: what was got, as it wanted so much. */
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

/* Where the neighbour stands, among `count`; NULL: nowhere. */
MAM_KFN uint64_t *graph_seek(uint64_t *entries, uint32_t count, uint64_t entry)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		if (entries[i] == entry)
			return &entries[i];
	}
	return NULL;
}

/* Takes a neighbour away, and says what becomes of the list. */
MAM_KFN void graph_drop(struct graph_vertex *vertex, uint64_t entry, struct graph_change *change)
{
	uint64_t *list = (uint64_t *)(uintptr_t)vertex->list, *place;
	const uint32_t count = vertex->count;

	place = graph_seek(list, count, entry);
	if (place == NULL)
		return;
	*place = list[count - 1];
	vertex->count = count - 1;
	if (!GRAPH_GROWS)
		return;
	if (count == 1) {
		change->old = list;
		change->old_bytes = vertex->room * (uint32_t)sizeof(uint64_t);
		vertex->list = 0;
		vertex->room = 0;
	} else if (vertex->room > GRAPH_LEAST && vertex->count <= vertex->room / 4) {
		change->wanted = vertex->room / 2 * (uint32_t)sizeof(uint64_t);
	}
}

/* The same of chunks. */
MAM_KFN void graph_drop_chained(const struct device_job *job, struct graph_vertex *vertex,
				uint64_t entry, struct graph_change *change)
{
	const uint32_t room = graph_chunk_room(job);
	struct graph_chunk *const first = (struct graph_chunk *)(uintptr_t)vertex->list;
	struct graph_chunk *chunk = first;
	const uint32_t last = (vertex->count - 1) % room;
	uint32_t count = last + 1;
	uint64_t *place = NULL;

	while (chunk != NULL && place == NULL) {
		place = graph_seek(chunk->entries, count, entry);
		chunk = (struct graph_chunk *)(uintptr_t)chunk->next;
		count = room;
	}
	if (place == NULL)
		return;
	*place = first->entries[last];
	vertex->count--;
	if (last == 0) {
		vertex->list = first->next;
		change->old = first;
		change->old_bytes = job->least;
	}
}

/* ---- kernels ---- */

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
	struct graph_vertex *const vertex = graph_vertices(job) + number;
	bool going = edge < job->seed && graph_goes(edge, job->askers, job->rounds) == job->count;

	while (mam_warp_ballot(all, going) != 0) {
		const bool won = graph_lock(vertex, number, going);
		struct graph_change change = { 0, NULL, 0 };
		void *fresh;

		if (won && vertex->count > 0) {
			if (graph_has_chunks(job))
				graph_drop_chained(job, vertex, graph_entry(edge, vertices),
						   &change);
			else
				graph_drop(vertex, graph_entry(edge, vertices), &change);
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
