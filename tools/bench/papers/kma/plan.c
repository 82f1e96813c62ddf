/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.c - the cells of `mam bench kma`, and the allocators that run them.
 *
 *   one        one lane mallocs 4 bytes and frees them, 1,000 to 100,000 times
 *   many       a number of lanes do so 100 times each: without variance 64 bytes, with low 32 to 128, with
 *              high 4 to 2,048
 *   arraylist  each lane gets 10 elements of 4 or 8 bytes, by malloc or from a list that a block of
 *              lanes grows; nothing is freed
 *   tree       a number of lanes turn edges into a graph
 *   setup      makes a heap of a number of superblocks of 4 KB
 * The paper's numbers of lanes are multiples of 384. The parameter names the differences.
 */
#include <string.h>

#include "kma.h"

#define K UINT32_C(1024)
#define M (1024 * K)
#define PUBLISHED_LANES 4608
#define ROUNDS 100
#define ELEMENTS 10
#define SECOND UINT64_C(1000000000)
/* For CUDA's malloc: more edges, or fewer lanes, would take all the available time. */
#define CUDA_EDGES_MAX (1 * M)
#define CUDA_LANES_MIN 1536u

const struct device_effort kma_efforts[KMA_EFFORTS] = {
	{ "full", 10, 2, 10, 150 * SECOND, UINT32_MAX, UINT64_MAX, true },
	{ "quick", 5, 1, 3, 25 * SECOND, UINT32_MAX, UINT64_MAX, false },
	{ "smoke", 1, 1, 1, 30 * SECOND, 4096, 64 * (uint64_t)BENCH_MIB, true },
};

static struct device_cell cell_of(enum kma_work work, uint32_t askers)
{
	return (struct device_cell){ .work = work,
				     .heap_bytes = KMA_HEAP,
				     .askers = askers,
				     .lanes = DEVICE_WARP,
				     .rounds = 1 };
}

static void plan_one(struct device_plan *plan)
{
	static const uint32_t rounds[] = { 10000, 1000, 100000 };
	size_t i;

	for (i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++) {
		struct device_cell cell = cell_of(KMA_ONE, 1);

		cell.lanes = 1;
		cell.min = cell.max = 4;
		cell.rounds = rounds[i];
		cell.fine = i > 0;
		device_plan_add(plan, cell, "%u", rounds[i]);
	}
}

static void plan_many(struct device_plan *plan)
{
	static const struct {
		const char *name;
		uint32_t min, max;
	} sizes[] = { { "none", 64, 64 }, { "low", 32, 128 }, { "high", 4, 2048 } };
	static const uint32_t lanes[] = {
		PUBLISHED_LANES, 384, 1536, 16 * K, 64 * K, 256 * K, 1 * M
	};
	char number[24];
	size_t i, k;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (k = 0; k < sizeof(lanes) / sizeof(lanes[0]); k++) {
			struct device_cell cell = cell_of(KMA_MANY, lanes[k]);

			cell.min = sizes[i].min;
			cell.max = sizes[i].max;
			cell.rounds = ROUNDS;
			cell.fine = k > 0;
			device_plan_add(plan, cell, "%s %s", sizes[i].name,
					device_plan_number(lanes[k], number, sizeof(number)));
		}
	}
}

static void plan_arraylist(struct device_plan *plan)
{
	static const uint32_t lanes[] = { 16 * K, 384, 1536, 3072, 6144, 8 * K };
	char number[24];
	uint32_t bytes, list;
	size_t i;

	for (bytes = 4; bytes <= 8; bytes += 4) {
		for (i = 0; i < sizeof(lanes) / sizeof(lanes[0]); i++) {
			for (list = 0; list < 2; list++) {
				struct device_cell cell = cell_of(KMA_ARRAYLIST, lanes[i]);

				cell.min = cell.max = bytes;
				cell.rounds = ELEMENTS;
				cell.share = list;
				cell.fine = i > 0 || bytes > 4;
				device_plan_add(
					plan, cell, "%s %uB %s", list ? "list" : "malloc", bytes,
					device_plan_number(lanes[i], number, sizeof(number)));
			}
		}
	}
}

bool kma_plan_is_list(const struct device_cell *cell)
{
	return cell->share != 0;
}

static void add_graph(struct device_plan *plan, uint32_t edges, uint32_t nodes, uint32_t lanes,
		      bool fine)
{
	struct device_cell cell = cell_of(KMA_GRAPH, lanes);
	char number[24], many[24];

	cell.filled = edges;
	cell.share = nodes;
	cell.fine = fine;
	cell.heap_bytes = edges > CUDA_EDGES_MAX ? KMA_HEAP_LARGE : KMA_HEAP;
	device_plan_add(plan, cell, "%s %s", device_plan_number(edges, many, sizeof(many)),
			device_plan_number(lanes, number, sizeof(number)));
}

static void plan_graph(struct device_plan *plan)
{
	static const uint32_t lanes[] = { 64, 256, 384, 1536, 4096, 16 * K, 64 * K };
	size_t i;

	for (i = 0; i < sizeof(lanes) / sizeof(lanes[0]); i++)
		add_graph(plan, 64 * K, 10000, lanes[i], lanes[i] != 16 * K && lanes[i] != 384);
	add_graph(plan, 1 * M, 160000, 64 * K, true);
	add_graph(plan, 16 * M, 2560000, 256 * K, true);
}

static void plan_setup(struct device_plan *plan)
{
	static const uint32_t counts[] = { 512, 1 * M };
	char number[24];
	size_t i;

	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct device_cell cell = cell_of(KMA_SETUP, 1);

		cell.lanes = 1;
		cell.min = cell.max = 4;
		cell.fine = counts[i] > 512;
		cell.share = counts[i];
		/* With more than enough for their metadata. */
		cell.heap_bytes = ((uint64_t)counts[i] << KMA_SHIFT) + counts[i] * 64 + 64 * K;
		device_plan_add(plan, cell, "%s",
				device_plan_number(counts[i], number, sizeof(number)));
	}
}

const struct device_work kma_works[KMA_WORKS] = {
	[KMA_ONE] = { "one", "malloc and free of 4 bytes by one lane", plan_one, kma_play_pairs },
	[KMA_MANY] = { "many", "100 times malloc and free by each of many lanes", plan_many,
		       kma_play_pairs },
	[KMA_ARRAYLIST] = { "arraylist", "10 elements for each lane, by malloc or of a list",
			    plan_arraylist, kma_play_arraylist },
	[KMA_GRAPH] = { "tree", "a list of edges becomes a graph", plan_graph, kma_play_graph },
	[KMA_SETUP] = { "setup", "to make a heap of so many superblocks of 4 KB", plan_setup,
			kma_play_setup },
};

void kma_plan_make(struct device_plan *plan)
{
	size_t i;

	plan->count = 0;
	for (i = 0; i < KMA_WORKS; i++)
		kma_works[i].plan(plan);
}

bool kma_plan_takes_part(const struct device_allocator *allocator, const struct device_cell *cell)
{
	if (allocator->make == NULL) /* run by another program */
		return false;
	switch (cell->work) {
	case KMA_SETUP: return allocator->reset != NULL;
	case KMA_GRAPH:
		return !allocator->slow ||
		       (cell->filled <= CUDA_EDGES_MAX &&
			(cell->filled < 64 * K || cell->askers >= CUDA_LANES_MIN));
	default: return allocator->frees;
	}
}

/* One place per element, edge and node. */
uint64_t kma_plan_places(const struct device_cell *cell)
{
	if (cell->work == KMA_ARRAYLIST)
		return (uint64_t)cell->askers * cell->rounds;
	if (cell->work == KMA_GRAPH)
		return cell->filled > cell->share ? cell->filled : cell->share;
	return cell->askers;
}

void kma_plan_shrink(struct device_cell *cell, uint32_t MAX_ASKERS)
{
	if (cell->askers > MAX_ASKERS)
		cell->askers = MAX_ASKERS;
	if (cell->rounds > ROUNDS)
		cell->rounds = ROUNDS;
	if (cell->filled > MAX_ASKERS) {
		cell->filled = MAX_ASKERS;
		cell->share = MAX_ASKERS / 8;
	}
}
