/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.c - the cells of `mam bench xmalloc`, and the allocators that run them.
 *
 *   time       a million workers malloc 4 bytes, write, read and free them, in one kernel; 1, 2, 4, 8,
 *              16 or 32 workers in each warp, whose other lanes are idle
 *   prefilled  the same, 32 workers per warp, with a quarter of the heap allocated before
 *   coalesce   the same for coalescing without buffers; and its requests to a base, on the base
 *              alone: 32K workers, alone in their warps, with the bytes of a million's warps
 *   buffers    the same with 0 to 32 buffers per class, with 1 and with 32 workers per warp
 *   hold       128K workers malloc 8 objects each of 4 to 256 bytes; a later kernel frees
 * Heaps have 500 MiB, which is too little for hold if each object has a page. CUDA's own malloc,
 * and layers over it, are skipped where they would take more than about a second for a million
 * workers; so there are cells of 16K workers, too. A cell's parameter is workers, workers per warp,
 * and buffers per class if they differ.
 */
#include "xmalloc.h"

#define K UINT32_C(1024)
#define M (1024 * K)
#define OBJECT 4      /* bytes, as published */
#define TOGETHER 520  /* of a warp's 32 objects with their headers */
#define FILLED 131072 /* blocks allocated before: 2^17 of 1 KiB */
#define HOLD_MIN 4
#define HOLD_MAX 256
#define HOLD_EACH 8

static const uint32_t all_lanes[] = { 32, 16, 8, 4, 2, 1 };

static struct device_cell cell_of(enum xmalloc_work work, uint32_t askers, uint32_t lanes)
{
	return (struct device_cell){ .work = work,
				     .heap_bytes = XMALLOC_HEAP,
				     .askers = askers,
				     .lanes = lanes,
				     .min = OBJECT,
				     .max = OBJECT,
				     .rounds = 1,
				     .buffers = XMALLOC_BUFFERS };
}

static void add(struct device_plan *plan, struct device_cell cell)
{
	char number[24];

	device_plan_add(plan, cell, "%s %u",
			device_plan_number(cell.askers, number, sizeof(number)), cell.lanes);
}

static void add_lanes(struct device_plan *plan, enum xmalloc_work work, uint32_t askers)
{
	size_t i;

	for (i = 0; i < sizeof(all_lanes) / sizeof(all_lanes[0]); i++) {
		struct device_cell cell = cell_of(work, askers, all_lanes[i]);

		cell.fine = cell.lanes != 32 && (cell.lanes != 1 || work != XMALLOC_TIME);
		add(plan, cell);
	}
}

static void plan_time(struct device_plan *plan)
{
	add_lanes(plan, XMALLOC_TIME, 1 * M);
	add_lanes(plan, XMALLOC_TIME, 16 * K);
}

static void plan_coalesce(struct device_plan *plan)
{
	struct device_cell one = cell_of(XMALLOC_COALESCE, 32 * K, 1);

	add(plan, cell_of(XMALLOC_COALESCE, 1 * M, 32));
	add_lanes(plan, XMALLOC_COALESCE, 16 * K);
	one.min = one.max = TOGETHER;
	device_plan_add(plan, one, "32K 1 %uB", TOGETHER);
}

static void plan_prefilled(struct device_plan *plan)
{
	struct device_cell cell = cell_of(XMALLOC_PREFILLED, 1 * M, 32);

	cell.filled = FILLED;
	cell.fine = true; /* CUDA's own takes seconds for the prefill */
	add(plan, cell);
}

static void plan_buffers(struct device_plan *plan)
{
	static const uint32_t counts[] = { 16, 1, 0, 2, 4, 8, 32 };
	static const uint32_t lanes[] = { 1, 32 };
	char number[24];
	size_t i, k;

	for (k = 0; k < sizeof(lanes) / sizeof(lanes[0]); k++) {
		for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
			struct device_cell cell =
				cell_of(XMALLOC_FIFOS, lanes[k] == 1 ? 16 * K : 1 * M, lanes[k]);

			cell.buffers = counts[i];
			cell.fine =
				lanes[k] != 1 || (counts[i] != 1 && counts[i] != XMALLOC_BUFFERS);
			device_plan_add(plan, cell, "%s %u %u",
					device_plan_number(cell.askers, number, sizeof(number)),
					cell.lanes, cell.buffers);
		}
	}
}

static void plan_hold(struct device_plan *plan)
{
	struct device_cell cell = cell_of(XMALLOC_HOLD, 128 * K, DEVICE_WARP);

	cell.min = HOLD_MIN;
	cell.max = HOLD_MAX;
	cell.rounds = HOLD_EACH;
	cell.fine = true;
	add(plan, cell);
}

const struct device_work xmalloc_works[XMALLOC_WORKS] = {
	[XMALLOC_TIME] = { "time", "malloc, write, read and free in one kernel", plan_time,
			   xmalloc_play_use },
	[XMALLOC_PREFILLED] = { "prefilled", "the same where a quarter of the heap was taken",
				plan_prefilled, xmalloc_play_use },
	[XMALLOC_COALESCE] = { "coalesce", "the same, of coalescing alone", plan_coalesce,
			       xmalloc_play_use },
	[XMALLOC_FIFOS] = { "buffers", "the same, with so many buffers a class", plan_buffers,
			    xmalloc_play_use },
	[XMALLOC_HOLD] = { "hold", "malloc, and free in a later kernel", plan_hold,
			   xmalloc_play_hold },
};

void xmalloc_plan_make(struct device_plan *plan)
{
	size_t i;

	plan->count = 0;
	for (i = 0; i < XMALLOC_WORKS; i++)
		xmalloc_works[i].plan(plan);
}

bool xmalloc_plan_takes_part(const struct device_allocator *allocator,
			     const struct device_cell *cell)
{
	const bool base = allocator->role == DEVICE_OURS || allocator->role == DEVICE_SYSTEM;

	if (allocator->one_size && cell->min != cell->max)
		return false;
	if (cell->work == XMALLOC_COALESCE)
		return base && !xmalloc_has_buffers(allocator) && !xmalloc_is_by_calls(allocator) &&
		       (cell->max == OBJECT || !xmalloc_is_coalesced(allocator));
	if (cell->work == XMALLOC_HOLD)
		return !xmalloc_is_page_each(allocator);
	if (cell->work == XMALLOC_FIFOS)
		return xmalloc_has_buffers(allocator);
	if (cell->work ==
	    XMALLOC_PREFILLED) /* does not apply to pages of one size and to counters */
		return !allocator->one_size && allocator->frees;
	return true;
}

uint64_t xmalloc_plan_places(const struct device_cell *cell)
{
	const uint64_t held = (uint64_t)cell->askers * cell->rounds;

	return held > cell->filled ? held : cell->filled;
}

void xmalloc_plan_shrink(struct device_cell *cell, uint32_t MAX_ASKERS)
{
	if (cell->askers > MAX_ASKERS)
		cell->askers = MAX_ASKERS;
	if (cell->filled > MAX_ASKERS)
		cell->filled = MAX_ASKERS;
}
