/* SPDX-License-Identifier: Apache-2.0 */
/*
 * play_graph.c - a graph whose edges are inserted and deleted: lists of neighbors that grow and
 * shrink in kernels, compared with lists whose capacity is reserved in advance.
 *
 * `filled` edges are inserted in `rounds` batches; there is one vertex per 16 edges (`buffers`
 * overrides their number). Each edge is deleted a pseudorandom number of rounds later, below
 * `rounds`. After all insertions there are half as many rounds with only deletions: lists grow to
 * 16 bytes times 2 to some power up to 8 KiB, and shrink. One edge in sixteen is left, and compared
 * with the host's reference: the number at each vertex, and a checksum over all.
 *
 * With page allocators (`one_size`), and in used heaps, lists are chains of chunks of `least`
 * bytes, as free blocks there have the size of a page. Otherwise they are arrays.
 * Reserved: a pass over insertions and deletions computes the peak length of each list
 * (graph_reserved.h).
 */
#include <stdlib.h>
#include <string.h>

#include "bench/harness/gpu.h"
#include "bench/papers/cases/cases.h"
#include "graph_edges.h"

#define BLOCK 256u
#define CHUNK_BYTES 128u
#define ROUNDS 4u
#define EDGES_A_VERTEX 16u
/*
 * Heap bytes per inserted edge, with some reserve. Arrays need ten sizes at a time, and each warp
 * has its own slabs of each: in a heap of 80 bytes per edge the large arrays did not fit.
 */
#define NEED_CHUNKS 24u
#define NEED_ARRAYS 192u

/* ---- the cells ---- */

static void add(struct device_plan *plan, uint32_t edges, uint32_t share, bool fine)
{
	const struct device_cell cell = {
		.work = CASE_GRAPH,
		.heap_bytes = case_heap_bytes(
			(uint64_t)edges * (share < 1000 ? NEED_CHUNKS : NEED_ARRAYS), share),
		.askers = 1,
		.lanes = 1,
		.min = CHUNK_BYTES,
		.max = CHUNK_BYTES,
		.rounds = ROUNDS,
		.share = share,
		.filled = edges,
		.fine = fine
	};
	char number[24];

	device_plan_add(plan, cell, "%s %u%%", device_plan_number(edges, number, sizeof(number)),
			share / 10);
}

void case_plan_graph(struct device_plan *plan)
{
	add(plan, 1u << 16, 1000, true);
	add(plan, 1u << 20, 1000, false);
	add(plan, 1u << 20, 500, true);
	add(plan, 1u << 20, 50, true);
	add(plan, 8u << 20, 1000, true);
	add(plan, 8u << 20, 500, true);
	add(plan, 8u << 20, 50, true);
}

/* ---- the reference ---- */

struct reference {
	uint32_t edges, vertices, batches;
	uint32_t *degrees; /* NULL: there is no reference */
	uint64_t count, sum;
};

/* The previous cell's, as allocators take turns cell by cell. */
static struct reference known;

static bool compute(uint32_t edges, uint32_t vertices, uint32_t batches)
{
	const uint32_t last = batches + batches / 2;
	uint32_t edge;

	if (known.degrees != NULL && known.edges == edges && known.vertices == vertices &&
	    known.batches == batches)
		return true;
	free(known.degrees);
	known = (struct reference){ .edges = edges, .vertices = vertices, .batches = batches };
	known.degrees = calloc(vertices, sizeof(*known.degrees));
	if (known.degrees == NULL)
		return false;
	for (edge = 0; edge < edges; edge++) {
		const uint32_t from = graph_from(edge, vertices);

		if (graph_goes(edge, edges, batches) < last)
			continue;
		known.degrees[from]++;
		known.count++;
		known.sum += graph_value(from, graph_entry(edge, vertices));
	}
	return true;
}

/* ---- a pass ---- */

struct graph {
	struct case_play play;
	struct device_job job;
	struct graph_vertex *vertices; /* in device memory */
	uint64_t vertices_bytes;
	uint64_t *places; /* reserved: the number of places, followed by the places themselves */
	uint64_t *total;
	uint64_t places_bytes;
};

static uint32_t blocks_for(uint64_t lanes)
{
	return (uint32_t)((lanes + BLOCK - 1) / BLOCK);
}

static bool launch(struct graph *graph, const char *kernel, uint64_t lanes)
{
	return case_launch(&graph->play, kernel, blocks_for(lanes), BLOCK, &graph->job);
}

/* Two kernels per round: one for insertions, one for deletions; `between` on all vertices. */
static bool play_rounds(struct graph *graph, const char *comes, const char *between,
			const char *goes)
{
	struct device_job *const job = &graph->job;
	const uint32_t batch = job->askers / job->rounds;

	for (job->count = 0; job->count < job->rounds + job->rounds / 2; job->count++) {
		const bool more = job->count < job->rounds;

		job->seed = more ? (job->count + 1) * batch : job->askers;
		if (more && !launch(graph, comes, batch))
			return false;
		if (more && between != NULL && !launch(graph, between, job->own[1]))
			return false;
		if (!launch(graph, goes, job->seed))
			return false;
	}
	return true;
}

/* Allocates space for all lists. Returns false if the device failed. */
static bool reserve(struct graph *graph)
{
	uint64_t places = 0;

	graph->total = case_take(&graph->play, sizeof(*graph->total));
	if (graph->total == NULL)
		return true;
	graph->job.own[2] = (uint64_t)(uintptr_t)graph->total;
	if (!bench_gpu_fill(graph->total, 0, sizeof(*graph->total)) ||
	    !play_rounds(graph, "graph_expect", "graph_max", "graph_miss") ||
	    !launch(graph, "graph_room", graph->job.own[1]) ||
	    !bench_gpu_fetch(&places, graph->total, sizeof(places)))
		return false;
	graph->places_bytes = places * sizeof(uint64_t);
	graph->places = case_take(&graph->play, graph->places_bytes);
	graph->job.own[3] = (uint64_t)(uintptr_t)graph->places;
	return graph->places == NULL || launch(graph, "graph_assign", graph->job.own[1]);
}

/*
 * Counts vertices that differ from the reference, and compares the checksums. Returns false if the
 * device failed.
 */
static bool compare(struct device_run *run, struct graph *graph, uint64_t *wrong)
{
	const uint64_t count = graph->job.own[1];
	struct graph_vertex *seen = malloc(graph->vertices_bytes);
	struct device_found found;
	struct case_told told;
	uint64_t i;
	bool good;

	good = device_launch_as(graph->play.heap, "graph_look", blocks_for(count), BLOCK,
				&graph->job, NULL) &&
	       device_count_end(run, &found);
	if (good && seen != NULL)
		good = bench_gpu_fetch(seen, graph->vertices, graph->vertices_bytes);
	if (good) {
		memcpy(&told, &found, sizeof(told));
		/* A failed request lost an edge, which is reported as such. */
		if (told.none == 0) {
			*wrong += (told.count != known.count) + (told.sum != known.sum);
			for (i = 0; seen != NULL && i < count; i++)
				*wrong += seen[i].count != known.degrees[i] || seen[i].lock != 0;
		}
	}
	free(seen);
	return good;
}

/* Frees all heap memory; with CASE_COUNT no bytes may be live afterwards. */
static bool clear(struct device_run *run, struct graph *graph, uint64_t *wrong)
{
	struct device_found found;
	struct case_told told;

	if (case_is_reserved(graph->play.heap->allocator))
		return true;
	if (!device_launch_as(graph->play.heap, "graph_clear", blocks_for(graph->job.own[1]), BLOCK,
			      &graph->job, NULL) ||
	    !device_count_end(run, &found))
		return false;
	memcpy(&told, &found, sizeof(told));
	*wrong += told.live != 0;
	return true;
}

static bool play_graph(struct device_run *run, struct graph *graph, struct case_pass *pass)
{
	const uint64_t begin = bench_now();

	graph->vertices = case_take(&graph->play, graph->vertices_bytes);
	if (graph->vertices == NULL)
		return true;
	graph->job.own[0] = (uint64_t)(uintptr_t)graph->vertices;
	if (!bench_gpu_fill(graph->vertices, 0, graph->vertices_bytes))
		return false;
	if (case_is_reserved(graph->play.heap->allocator) && !reserve(graph))
		return false;
	if (graph->play.none)
		return true;
	if (!play_rounds(graph, "graph_insert", NULL, "graph_delete"))
		return false;
	pass->wall_us = (double)(bench_now() - begin) / 1000;
	return compare(run, graph, &pass->wrong) && clear(run, graph, &pass->wrong);
}

static bool once(struct device_run *run, struct device_heap *heap, const struct device_cell *cell,
		 struct case_pass *pass, void *user)
{
	struct graph graph = { .play = { .run = run, .heap = heap } };
	bool good;

	(void)user;
	graph.job = case_job(run, heap, cell);
	graph.job.flags = pass->counts ? CASE_COUNT : 0;
	if (!case_is_reserved(heap->allocator) && (heap->allocator->one_size || cell->share < 1000))
		graph.job.flags |= GRAPH_CHUNKS;
	graph.job.askers = known.edges;
	graph.job.own[1] = known.vertices;
	graph.vertices_bytes = known.vertices * sizeof(struct graph_vertex);
	good = play_graph(run, &graph, pass);
	pass->us = graph.play.us;
	pass->peak = graph.play.peak;
	pass->none = graph.play.none;
	case_give(&graph.play, graph.places, graph.places_bytes);
	case_give(&graph.play, graph.total, sizeof(*graph.total));
	case_give(&graph.play, graph.vertices, graph.vertices_bytes);
	return good;
}

bool case_play_graph(struct device_run *run, struct device_heap *heap,
		     const struct device_cell *cell)
{
	const uint32_t vertices = cell->buffers > 0 ? cell->buffers : cell->filled / EDGES_A_VERTEX;

	if (!compute(cell->filled / cell->rounds * cell->rounds, vertices > 0 ? vertices : 1,
		     cell->rounds)) {
		device_note(run, heap, cell, "there is too little memory to check it");
		return true;
	}
	return case_runs(run, heap, cell, once, NULL);
}
