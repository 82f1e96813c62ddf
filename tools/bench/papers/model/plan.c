/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.c - the cells of `mam bench model`, after the figures of the paper.
 *
 * The smaller heap has T = 1,000,000 pages and up to T / 200 = 5,000 threads, so that at 0.5% free
 * the last page is taken. The larger one has 32 times as many, a power of two, with up to a million
 * threads. Cells with the same heap state are adjacent. A cell that would request more than is free
 * is skipped.
 *
 *   get     figures 4, 11, 16: 6 numbers of threads at 5 free shares; 5: T / 200 threads at 9
 *   lanes   12, 13: T / 6400 warps, 1 to 32 requesting lanes each, at 5%, 1%, 0.8%, 0.5% free
 *   malloc  2: five scenarios, all free; 14: seven, at 50%, 10%, 1%
 *   use     15: until one request in a hundred fails, at eight sizes
 *   found   6: at 10%, 5% and 1% free
 *   again   8, 9: each thread takes four pages, one after another, and remembers the last;
 *           free pages are in clusters of 100, in clusters of 2, or random
 *   give    16: each thread frees one page; clocks
 */
#include <stdio.h>

#include "model.h"

#define K UINT32_C(1024)
#define M (1024 * K)
#define ALL 1000
#define GROUP 64 /* adjacent free pages where runs are requested */
#define ROUNDS 4

const char *const model_work_names[MODEL_WORKS] = { "get",    "lanes", "malloc", "use",
						    "atomic", "found", "again",  "give" };

const struct pages_names model_names = {
	{ "model-get", "model-lanes", "model-malloc", "model-use" }, "model-free", "model-launch"
};

static void add_get(struct pages_plan *plan, struct pages_space space, uint32_t askers, bool fine)
{
	pages_plan_add(plan, (struct pages_cell){ .work = PAGES_GET,
						  .space = space,
						  .askers = askers > 0 ? askers : 1,
						  .lanes = MODEL_WARP,
						  .min = PAGES_BYTES,
						  .max = PAGES_BYTES,
						  .fine = fine });
}

static void add_lanes(struct pages_plan *plan, struct pages_space space)
{
	static const uint32_t lanes[] = { 1, 4, 8, 12, 16, 20, 24, 28, 32 };
	const uint32_t warps = space.pages / 6400 > 0 ? space.pages / 6400 : 1;
	size_t i;

	for (i = 0; i < sizeof(lanes) / sizeof(lanes[0]); i++)
		pages_plan_add(plan, (struct pages_cell){ .work = PAGES_LANES,
							  .space = space,
							  .askers = warps * lanes[i],
							  .lanes = lanes[i],
							  .min = PAGES_BYTES,
							  .max = PAGES_BYTES,
							  .fine = lanes[i] % 16 != 0 });
}

static void add_malloc(struct pages_plan *plan, struct pages_space space, uint32_t askers,
		       bool fine)
{
	static const struct {
		uint32_t min, max;
		bool at_once, second, fourteenth; /* figures */
	} sizes[] = {
		{ 16, 16, false, false, true },     { 256, 256, false, false, true },
		{ 1024, 1024, false, false, true }, { 4096, 4096, false, true, true },
		{ 4100, 4100, false, true, false }, { 8192, 8192, false, true, true },
		{ 4, 8192, false, true, true },     { 4096, 4096, true, true, true },
	};
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (space.free_tenths == ALL ? !sizes[i].second : !sizes[i].fourteenth)
			continue;
		pages_plan_add(plan, (struct pages_cell){ .work = PAGES_MALLOC,
							  .space = space,
							  .askers = askers,
							  .lanes = MODEL_WARP,
							  .min = sizes[i].min,
							  .max = sizes[i].max,
							  .at_once = sizes[i].at_once,
							  .fine = fine });
	}
}

static void add_use(struct pages_plan *plan, uint32_t pages)
{
	static const uint32_t sizes[] = { 256, 512, 1024, 1050, 2048, 4096, 4100, 8192 };
	const uint32_t max = pages / 64 + 1;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		pages_plan_add(plan, (struct pages_cell){ .work = PAGES_USE,
							  .space = { pages, ALL, 1 },
							  .askers = 64 * K < max ? 64 * K : max,
							  .lanes = MODEL_WARP,
							  .min = sizes[i],
							  .max = sizes[i],
							  .fine = sizes[i] != 1050 });
}

/* One page each, on the smaller heap. */
static void add_small(struct pages_plan *plan, uint32_t pages)
{
	static const struct {
		uint32_t tenths;
		bool threads, lanes; /* figures 4 and 11; 12 and 13 */
	} shares[] = {
		{ 500, true, false }, { 200, false, false }, { 100, true, false },
		{ 50, false, true },  { 20, false, false },  { 10, true, true },
		{ 8, false, true },   { 7, true, false },    { 5, true, true },
	};
	static const uint32_t parts[] = { 1, 2, 4, 6, 8, 10 };
	size_t i, k;

	for (i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		const struct pages_space space = { pages, shares[i].tenths, 1 };

		for (k = 0; k < sizeof(parts) / sizeof(parts[0]); k++) {
			if (shares[i].threads || parts[k] == 10)
				add_get(plan, space, pages / 200 * parts[k] / 10,
					parts[k] != 2 && parts[k] != 10);
		}
		if (shares[i].lanes)
			add_lanes(plan, space);
	}
}

static void add_large(struct pages_plan *plan, uint32_t pages)
{
	static const uint32_t shares[] = { 500, 100, 10, 5 }, askers[] = { 16 * K, 128 * K, M };
	size_t i, k;

	for (i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		for (k = 0; k < sizeof(askers) / sizeof(askers[0]); k++) {
			if (askers[k] < M || shares[i] >= 100)
				add_get(plan, (struct pages_space){ pages, shares[i], 1 },
					askers[k], askers[k] == 16 * K);
		}
	}
}

static void add_again(struct model_plan *plan, uint32_t pages, uint32_t tenths, uint32_t group,
		      uint32_t askers, bool fine)
{
	struct model_again *again = &plan->again[plan->again_count];

	if (plan->again_count == MODEL_AGAINS_MAX)
		return;
	*again = (struct model_again){ .space = { pages, tenths, group },
				       .askers = askers > 0 ? askers : 1,
				       .rounds = ROUNDS,
				       .fine = fine };
	if ((uint64_t)again->askers * ROUNDS > pages_plan_free(&again->space))
		return;
	snprintf(again->parameter, sizeof(again->parameter), "%g%% /%u %u", tenths / 10.0, group,
		 again->askers);
	plan->again_count++;
}

static void add_agains(struct model_plan *plan, uint32_t pages)
{
	static const uint32_t shares[] = { 500, 100, 10, 5 }, groups[] = { 100, 2, 1 };
	size_t i, k;

	for (i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		for (k = 0; k < sizeof(groups) / sizeof(groups[0]); k++) {
			add_again(plan, pages, shares[i], groups[k], pages / 4000, true);
			add_again(plan, pages, shares[i], groups[k], pages / 2000, true);
			add_again(plan, pages, shares[i], groups[k], pages / 1000, false);
		}
	}
}

static void add_founds(struct model_plan *plan, uint32_t pages)
{
	static const uint32_t shares[MODEL_FOUNDS] = { 100, 50, 10 };
	size_t i, k;

	for (i = 0; i < MODEL_FOUNDS; i++) {
		struct model_found *found = &plan->found[i];

		found->space = (struct pages_space){ pages, shares[i], 1 };
		snprintf(found->parameter, sizeof(found->parameter), "%g%%", shares[i] / 10.0);
		for (k = 0; k < MODEL_BINS; k++)
			snprintf(found->bins[k], sizeof(found->bins[k]), "%s %d", found->parameter,
				 (int)k - MODEL_BINS / 2);
	}
}

static void add_gives(struct model_plan *plan, uint32_t pages)
{
	static const uint32_t shares[] = { 500, 10 }, parts[] = { 1, 2, 4, 6, 8, 10, 256 };
	char askers[16];
	size_t i, k;

	for (i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		for (k = 0; k < sizeof(parts) / sizeof(parts[0]); k++) {
			struct model_give *give = &plan->gives[plan->give_count];

			*give = (struct model_give){ .space = { pages, shares[i], 1 },
						     .askers = pages / 200 * parts[k] / 10 };
			if (give->askers == 0 || plan->give_count == MODEL_GIVES_MAX ||
			    give->askers > pages_plan_free(&give->space))
				continue;
			pages_plan_number(give->askers, askers, sizeof(askers));
			snprintf(give->parameter, sizeof(give->parameter), "%g%% %s",
				 shares[i] / 10.0, askers);
			plan->give_count++;
		}
	}
}

static uint32_t power_of_two(uint32_t min)
{
	uint32_t power = 1;

	while (power < min)
		power *= 2;
	return power;
}

void model_plan_make(struct model_plan *plan, uint32_t pages)
{
	static const uint32_t shares[] = { ALL, 500, 100, 10 };
	const uint32_t more = 4 * power_of_two(pages);
	size_t i;

	plan->pages.count = plan->again_count = plan->give_count = 0;
	add_small(&plan->pages, pages);
	add_large(&plan->pages, 8 * more);
	for (i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		const struct pages_space space = { more, shares[i], GROUP };

		add_malloc(&plan->pages, space, 1 * K, shares[i] != ALL);
		add_malloc(&plan->pages, space, 16 * K, shares[i] != ALL);
	}
	add_use(&plan->pages, more);
	add_agains(plan, pages);
	add_founds(plan, pages);
	add_gives(plan, pages);
}
