/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_plan.c - the cells of `mam bench device`, and the allocators that run them.
 *
 *   w1     each of N threads mallocs once; a later kernel frees
 *   w2     the same, with sizes from 4 to 8192 bytes
 *   w3     the same, with one lane in each warp
 *   w5     1 GiB is filled with 256-byte objects, a pseudorandom share of them is freed, then a number
 *          of threads allocate
 *   scale  as w1, with 1 to 2^20 threads
 *   small  as w1, with 32 to 16384 threads
 *   shapes as w1, 64 bytes, by a million threads in blocks and grids of other shapes
 * Heaps have 8 GiB, and 16 GiB for a million objects of 8192 bytes; less if the device has less
 * free memory. device_more.c has W4, W6, W7; it, device_lists.c, device_reuse.c and device_churn.c
 * have the others.
 *
 * Cells are in the order in which they are run: those of the targets come first.
 */
#include "device_bench.h"
#include "device_play.h"

#define K UINT32_C(1024)
#define M (1024 * K)
#define W5_OBJECT 256
#define SHRUNK_HEAP (16 * (uint64_t)BENCH_MIB) /* of works that fill one, in a smoke run */

static void add_malloc(struct device_plan *plan, enum device_work_kind work, uint32_t min,
		       uint32_t max, uint32_t askers, bool fine)
{
	const struct device_cell cell = { .work = work,
					  .heap_bytes = (max < 8192 || min < max ? 8 : 16) *
							(uint64_t)BENCH_GIB,
					  .askers = askers,
					  .lanes = work == DEVICE_W3 ? 1 : DEVICE_WARP,
					  .min = min,
					  .max = max,
					  .rounds = 1,
					  .fine = fine };
	char number[24], mix[16] = "";

	if (min < max)
		snprintf(mix, sizeof(mix), "%u..", min);
	device_plan_add(plan, cell, "%s%uB %s", mix, max,
			device_plan_number(askers, number, sizeof(number)));
}

static void plan_w1(struct device_plan *plan)
{
	static const uint32_t sizes[] = { 16, 64, 256, 1024, 4096, 8192 };
	static const uint32_t askers[] = { 1 * M, 128 * K, 1 * K };
	size_t i, k;

	for (k = 0; k < sizeof(askers) / sizeof(askers[0]); k++) {
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			add_malloc(plan, DEVICE_W1, sizes[i], sizes[i], askers[k],
				   askers[k] == 1 * K);
	}
}

static void plan_w2(struct device_plan *plan)
{
	static const uint32_t askers[] = { 1 * M, 128 * K, 16 * K, 1 * K };
	size_t k;

	for (k = 0; k < sizeof(askers) / sizeof(askers[0]); k++)
		add_malloc(plan, DEVICE_W2, 4, 8192, askers[k], k > 1);
}

static void plan_w3(struct device_plan *plan)
{
	static const uint32_t askers[] = { 1 * M, 128 * K, 1 * K };
	size_t k;

	for (k = 0; k < sizeof(askers) / sizeof(askers[0]); k++) {
		add_malloc(plan, DEVICE_W3, 64, 64, askers[k], k > 1);
		add_malloc(plan, DEVICE_W3, 256, 256, askers[k], k > 0);
	}
}

static void plan_w5(struct device_plan *plan)
{
	static const uint32_t shares[] = { 500, 100, 10 }, askers[] = { 16 * K, 4 * K };
	char number[24];
	size_t i, k;

	for (i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		for (k = 0; k < sizeof(askers) / sizeof(askers[0]); k++)
			device_plan_add(plan,
					(struct device_cell){ .work = DEVICE_W5,
							      .heap_bytes = BENCH_GIB,
							      .askers = askers[k],
							      .lanes = DEVICE_WARP,
							      .min = W5_OBJECT,
							      .max = W5_OBJECT,
							      .rounds = 1,
							      .share = shares[i],
							      .fine = askers[k] != 16 * K },
					"%uB %u%% %s", W5_OBJECT, shares[i] / 10,
					device_plan_number(askers[k], number, sizeof(number)));
	}
}

static void plan_scale(struct device_plan *plan)
{
	uint32_t askers;

	for (askers = 1; askers <= 1 * M; askers *= 2)
		add_malloc(plan, DEVICE_SCALE, 64, 64, askers, true);
}

static void plan_small(struct device_plan *plan)
{
	static const uint32_t askers[] = { 32, 1 * K, 4 * K, 16 * K }, sizes[] = { 256, 16, 4096 };
	size_t i, k;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (k = 0; k < sizeof(askers) / sizeof(askers[0]); k++)
			add_malloc(plan, DEVICE_SMALL, sizes[i], sizes[i], askers[k],
				   sizes[i] != 256 || askers[k] == 4 * K);
	}
}

/* "48x4", "1x4096" or "8x8x4". */
static const char *name_dims(struct bench_gpu_dims dims, char *text, size_t bytes)
{
	if (dims.z > 1)
		snprintf(text, bytes, "%ux%ux%u", dims.x, dims.y, dims.z);
	else
		snprintf(text, bytes, "%ux%u", dims.x, dims.y);
	return text;
}

static uint32_t count_dims(struct bench_gpu_dims dims)
{
	return dims.x * dims.y * dims.z;
}

/*
 * Rows of whole warps, warps of several rows, and rows that end in the middle of a warp; then grids
 * of two and three dimensions.
 */
static void plan_shapes(struct device_plan *plan)
{
	static const struct {
		struct bench_gpu_dims block, grid;
		bool fine;
	} shapes[] = {
		{ { 256, 1, 1 }, { 4096, 1, 1 }, false }, { { 32, 8, 1 }, { 4096, 1, 1 }, false },
		{ { 16, 16, 1 }, { 4096, 1, 1 }, false }, { { 8, 8, 4 }, { 4096, 1, 1 }, true },
		{ { 64, 4, 1 }, { 4096, 1, 1 }, true },   { { 48, 4, 1 }, { 5461, 1, 1 }, false },
		{ { 40, 6, 1 }, { 4369, 1, 1 }, true },   { { 100, 2, 1 }, { 5242, 1, 1 }, true },
		{ { 33, 3, 1 }, { 10591, 1, 1 }, true },  { { 256, 1, 1 }, { 1, 4096, 1 }, true },
		{ { 16, 16, 1 }, { 64, 64, 1 }, true },   { { 8, 8, 4 }, { 16, 16, 16 }, true },
	};
	char block[24], grid[24];
	size_t i;

	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		const struct device_cell cell = { .work = DEVICE_SHAPES,
						  .heap_bytes = 8 * (uint64_t)BENCH_GIB,
						  .askers = count_dims(shapes[i].block) *
							    count_dims(shapes[i].grid),
						  .lanes = DEVICE_WARP,
						  .min = 64,
						  .max = 64,
						  .rounds = 1,
						  .grid = shapes[i].grid,
						  .block = shapes[i].block,
						  .fine = shapes[i].fine };
		const bool line = shapes[i].grid.y * shapes[i].grid.z == 1;

		device_plan_add(plan, cell, "64B %s%s%s",
				name_dims(cell.block, block, sizeof(block)), line ? "" : " in ",
				line ? "" : name_dims(cell.grid, grid, sizeof(grid)));
	}
}

const struct device_work device_works[DEVICE_WORKS] = {
	[DEVICE_W1] = { "w1", "malloc, all at once", plan_w1, device_play_malloc },
	[DEVICE_W2] = { "w2", "malloc of mixed sizes", plan_w2, device_play_malloc },
	[DEVICE_W3] = { "w3", "malloc by one lane of each warp", plan_w3, device_play_malloc },
	[DEVICE_W4] = { "w4", "malloc, write and free in one kernel", device_plan_w4,
			device_play_w4 },
	[DEVICE_W5] = { "w5", "malloc in a heap that is nearly full", plan_w5, device_play_w5 },
	[DEVICE_W6] = { "w6", "how much of a heap is in use when requests fail", device_plan_w6,
			device_play_w6 },
	[DEVICE_W7] = { "w7", "one warp alone", device_plan_w7, device_play_w7 },
	[DEVICE_SCALE] = { "scale", "malloc, from one thread up", plan_scale, device_play_malloc },
	[DEVICE_FRAGMENT] = { "fragment", "the range of addresses after random churn",
			      device_plan_fragment, device_play_fragment },
	[DEVICE_REGISTERS] = { "registers", "of a kernel that calls it", device_plan_registers,
			       device_play_registers },
	[DEVICE_START] = { "start", "a new heap, and the first kernel on it", device_plan_start,
			   device_play_start },
	[DEVICE_GRAPH] = { "graph", "adjacency lists that grow", device_plan_graph,
			   device_play_graph },
	[DEVICE_GENERATE] = { "generate", "threads make work for others", device_plan_generate,
			      device_play_generate },
	[DEVICE_SHAPES] = { "shapes", "malloc by blocks and grids of several dimensions",
			    plan_shapes, device_play_shapes },
	[DEVICE_REUSE] = { "reuse", "larger objects in the memory of small ones", device_plan_reuse,
			   device_play_reuse },
	[DEVICE_CHURN] = { "churn", "mixed sizes, freed and replaced", device_plan_churn,
			   device_play_churn },
	[DEVICE_EXCHANGE] = { "exchange", "objects freed by other threads", device_plan_exchange,
			      device_play_exchange },
	[DEVICE_SMALL] = { "small", "malloc by few threads", plan_small, device_play_malloc },
	[DEVICE_FAIL] = { "fail", "requests to a full heap", device_plan_fail, device_play_fail },
};

void device_plan_make(struct device_plan *plan)
{
	/* Order of the works, as the deadline may pass before the end. */
	static const enum device_work_kind order[] = {
		DEVICE_REGISTERS, DEVICE_W1,       DEVICE_W2,    DEVICE_W3,     DEVICE_W4,
		DEVICE_W5,        DEVICE_W6,       DEVICE_W7,    DEVICE_START,  DEVICE_SCALE,
		DEVICE_FRAGMENT,  DEVICE_GENERATE, DEVICE_GRAPH, DEVICE_SHAPES, DEVICE_SMALL,
		DEVICE_REUSE,     DEVICE_EXCHANGE, DEVICE_FAIL,  DEVICE_CHURN,
	};
	size_t i;

	plan->count = 0;
	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		device_works[order[i]].plan(plan);
}

/* Reduces cells that are all large, so that their kernels run at all. */
void device_plan_shrink(struct device_cell *cell, uint32_t MAX_ASKERS)
{
	struct bench_gpu_dims *const grid = &cell->grid;

	if ((cell->work == DEVICE_W4 || cell->work == DEVICE_GRAPH || cell->work == DEVICE_FAIL) &&
	    cell->askers > MAX_ASKERS)
		cell->askers = MAX_ASKERS;
	if ((cell->work == DEVICE_REUSE || cell->work == DEVICE_EXCHANGE ||
	     cell->work == DEVICE_FAIL) &&
	    cell->heap_bytes > SHRUNK_HEAP)
		cell->heap_bytes = SHRUNK_HEAP;
	for (; cell->work == DEVICE_CHURN && cell->askers > MAX_ASKERS; cell->askers /= 2)
		cell->heap_bytes /= 2;
	while (cell->work == DEVICE_SHAPES && cell->askers > MAX_ASKERS) {
		*(grid->x >= grid->y && grid->x >= grid->z ? &grid->x
		  : grid->y >= grid->z                     ? &grid->y
							   : &grid->z) /= 2;
		cell->askers = count_dims(cell->block) * count_dims(*grid);
	}
}

uint64_t device_plan_places(const struct device_cell *cell)
{
	switch (cell->work) {
	case DEVICE_W5: return cell->askers + cell->heap_bytes / cell->min;
	case DEVICE_REUSE:
	case DEVICE_FAIL: return device_reuse_places(cell);
	case DEVICE_EXCHANGE: return device_exchange_places(cell);
	default: return cell->askers;
	}
}

bool device_plan_takes_part(const struct device_allocator *allocator,
			    const struct device_cell *cell)
{
	const bool simple = cell->work == DEVICE_W1 || cell->work == DEVICE_W2 ||
			    cell->work == DEVICE_W3 || cell->work == DEVICE_SCALE ||
			    cell->work == DEVICE_SHAPES || cell->work == DEVICE_SMALL;

	if (allocator->one_size && cell->min != cell->max)
		return false;
	if (allocator->slow && cell->work == DEVICE_W3)
		return cell->askers <= 1 * K;
	if (allocator->slow && simple) /* it takes seconds for what others do in microseconds */
		return cell->askers <= (cell->max <= 64 ? 1 * M : 128 * K);
	if (cell->work == DEVICE_W5)
		return allocator->frees && !allocator->slow;
	if (cell->work == DEVICE_REUSE && cell->group > 0 && !allocator->frees)
		return false;
	/* CUDA's own heap has the size that the bench set: it is never full. */
	if (cell->work == DEVICE_W6 || cell->work == DEVICE_REUSE || cell->work == DEVICE_FAIL)
		return allocator->role != DEVICE_SYSTEM;
	/* For the same reason it has only the first of these cells. */
	if (cell->work == DEVICE_CHURN || cell->work == DEVICE_EXCHANGE)
		return allocator->frees && (allocator->role != DEVICE_SYSTEM || cell->share <= 500);
	return true;
}
