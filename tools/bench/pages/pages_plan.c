/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_plan.c - the cells of `mam bench pages`.
 *
 * After sections 5.2.1 to 5.2.5 of Pham et al., "Dynamic Buffer Management in Massively Parallel
 * Systems: The Power of Randomness", ACM TOPC 12(1), 2025:
 *   get     one page each, for several numbers of askers and shares of free pages; and the same
 *           pages freed by a later kernel
 *   lanes   the same, with 1 to 32 askers in each warp
 *   malloc  several pages each; seven scenarios
 *   use     until one request in a hundred fails
 * Cells of one initial state are adjacent, so that each allocator's heap is made once. A cell that
 * requests more than is free is skipped.
 */
#include <stdio.h>
#include <string.h>

#include "pages_bench.h"

#define K UINT32_C(1024)
#define M (1024 * K)
#define ALL 1000
#define MALLOC_GROUP 64 /* pages: free ones are contiguous so that large requests can be served */
#define USE_ASKERS (64 * K)

const char *const pages_work_names[PAGES_WORKS] = { "get", "lanes", "malloc", "use" };

uint32_t pages_plan_free(const struct pages_space *space)
{
	const uint64_t free_pages = (uint64_t)space->pages * space->free_tenths / ALL;

	return (uint32_t)(free_pages / space->group * space->group);
}

const char *pages_plan_number(uint32_t number, char *text, size_t bytes)
{
	if (number >= M && number % M == 0)
		snprintf(text, bytes, "%uM", number / M);
	else if (number >= K && number % K == 0)
		snprintf(text, bytes, "%uK", number / K);
	else
		snprintf(text, bytes, "%u", number);
	return text;
}

static void name_cell(struct pages_cell *cell)
{
	const struct pages_space *space = &cell->space;
	char pages[16], share[16], askers[16], tail[40] = "";

	pages_plan_number(space->pages, pages, sizeof(pages));
	pages_plan_number(cell->askers, askers, sizeof(askers));
	snprintf(share, sizeof(share), "%g%%", (double)space->free_tenths / 10);
	if (cell->work == PAGES_LANES)
		snprintf(tail, sizeof(tail), " x%u", cell->lanes);
	if (cell->work == PAGES_MALLOC && cell->min < cell->max)
		snprintf(tail, sizeof(tail), " %u..%uB", cell->min, cell->max);
	else if (cell->work == PAGES_MALLOC)
		snprintf(tail, sizeof(tail), " %uB%s", cell->min, cell->at_once ? "+free" : "");
	if (cell->work == PAGES_USE)
		snprintf(cell->parameter, sizeof(cell->parameter), "%uB", cell->min);
	else
		snprintf(cell->parameter, sizeof(cell->parameter), "%.9s %.6s %.8s%.13s", pages,
			 share, askers, tail);
}

void pages_plan_add(struct pages_plan *plan, struct pages_cell cell)
{
	const uint64_t pages_each = ((uint64_t)cell.max + PAGES_BYTES - 1) / PAGES_BYTES;

	if (cell.work != PAGES_USE && cell.askers * pages_each > pages_plan_free(&cell.space))
		return;
	if (plan->count == PAGES_CELLS_MAX)
		return;
	name_cell(&cell);
	plan->cells[plan->count++] = cell;
}

static void add_get(struct pages_plan *plan, const struct pages_space *space, uint32_t askers,
		    bool fine)
{
	pages_plan_add(plan, (struct pages_cell){ .work = PAGES_GET,
						  .space = *space,
						  .askers = askers,
						  .lanes = 32,
						  .min = PAGES_BYTES,
						  .max = PAGES_BYTES,
						  .fine = fine });
}

static void add_lanes(struct pages_plan *plan, const struct pages_space *space, uint32_t askers)
{
	uint32_t lanes;

	for (lanes = 1; lanes <= 32; lanes *= 2)
		pages_plan_add(plan, (struct pages_cell){ .work = PAGES_LANES,
							  .space = *space,
							  .askers = askers,
							  .lanes = lanes,
							  .min = PAGES_BYTES,
							  .max = PAGES_BYTES,
							  .fine = lanes != 1 && lanes != 32 });
}

static void add_malloc(struct pages_plan *plan, const struct pages_space *space, uint32_t askers,
		       bool fine)
{
	static const uint32_t sizes[][3] = {
		/* least, most, at once */
		{ 16, 16, 0 },     { 256, 256, 0 }, { 1024, 1024, 0 }, { 4096, 4096, 0 },
		{ 8192, 8192, 0 }, { 4, 8192, 0 },  { 4096, 4096, 1 },
	};
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		pages_plan_add(plan, (struct pages_cell){ .work = PAGES_MALLOC,
							  .space = *space,
							  .askers = askers,
							  .lanes = 32,
							  .min = sizes[i][0],
							  .max = sizes[i][1],
							  .at_once = sizes[i][2] != 0,
							  .fine = fine });
}

static void add_use(struct pages_plan *plan, uint32_t pages)
{
	static const uint32_t sizes[] = { 256, 1024, 1050, 4096, 4100, 8192 };
	const uint32_t max = pages / 64 + 1; /* so that one round does not fill a small heap */
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		pages_plan_add(plan,
			       (struct pages_cell){ .work = PAGES_USE,
						    .space = { pages, ALL, 1 },
						    .askers = USE_ASKERS < max ? USE_ASKERS : max,
						    .lanes = 32,
						    .min = sizes[i],
						    .max = sizes[i],
						    .fine = sizes[i] != 1050 });
}

/* One page each, on T pages of which `tenths` are free. */
static void add_share(struct pages_plan *plan, uint32_t pages, uint32_t tenths)
{
	static const uint32_t askers[] = { 1 * K, 4 * K, 5000, 10000, 16 * K, 128 * K, 1 * M };
	const struct pages_space space = { pages, tenths, 1 };
	size_t i;

	for (i = 0; i < sizeof(askers) / sizeof(askers[0]); i++) {
		/* These two are nearly all free pages of a million at 0.5% and 1%. */
		if ((askers[i] == 5000 && tenths != 5) || (askers[i] == 10000 && tenths != 10))
			continue;
		add_get(plan, &space, askers[i],
			askers[i] == 1 * K || askers[i] == 4 * K || askers[i] == 128 * K);
	}
	if (tenths == ALL || tenths == 500)
		add_lanes(plan, &space, 128 * K);
	if (tenths == 10)
		add_lanes(plan, &space, 4 * K);
}

void pages_plan_make(struct pages_plan *plan, uint32_t pages)
{
	static const uint32_t shares[] = { ALL, 500, 100, 10, 5 };
	size_t i;

	plan->count = 0;
	for (i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		add_share(plan, pages, shares[i]);
	add_lanes(plan, &(struct pages_space){ pages, 50, 1 }, 16 * K);
	for (i = 1; i < 4; i++) {
		const struct pages_space space = { 4 * pages, shares[i], 1 };

		add_get(plan, &space, 16 * K, false);
		add_get(plan, &space, 128 * K, shares[i] != 100);
	}
	add_get(plan, &(struct pages_space){ 32 * pages, ALL, 1 }, 128 * K, true);
	add_get(plan, &(struct pages_space){ 32 * pages, ALL, 1 }, 1 * M, false);
	add_lanes(plan, &(struct pages_space){ 32 * pages, ALL, 1 }, 1 * M);
	add_malloc(plan, &(struct pages_space){ 32 * pages, ALL, MALLOC_GROUP }, 16 * K, false);
	add_malloc(plan, &(struct pages_space){ 32 * pages, ALL, MALLOC_GROUP }, 128 * K, true);
	add_malloc(plan, &(struct pages_space){ 32 * pages, 500, MALLOC_GROUP }, 128 * K, true);
	add_malloc(plan, &(struct pages_space){ 32 * pages, 100, MALLOC_GROUP }, 16 * K, true);
	add_use(plan, 4 * pages);
}

bool pages_plan_takes_part(const struct pages_allocator *allocator, const struct pages_cell *cell)
{
	const bool several = cell->work == PAGES_MALLOC || cell->work == PAGES_USE;

	if (allocator->metadata ==
	    PAGES_ADDRESS) /* it takes seconds for what others do in microseconds */
		return cell->space.free_tenths == ALL && cell->work != PAGES_USE &&
		       cell->lanes == 32 &&
		       cell->askers <= (cell->max > 2 * PAGES_BYTES ? 16 * K : 128 * K);
	return several ? allocator->runs : allocator->one;
}
