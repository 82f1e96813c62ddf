/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_lone.c - lanes that call one at a time, as all do on devices without warps.
 */
#include "heap/kit.h"

struct plan {
	const char *name;
	uint32_t count, grid, block;
	uint32_t each; /* pages that a lane owns at a time */
	uint32_t seeds;
};

/* Each plan has enough pages for all lanes. */
static const struct plan plans[] = {
	{ "two pages, two lanes", 2, 1, 2, 1, 2500 },
	{ "eight pages, eight lanes of two blocks", 8, 2, 4, 1, 1500 },
	{ "a word plus a page for twelve lanes", 65, 3, 4, 5, 150 },
	{ "a word plus a page, five per lane, one more than needed", 66, 1, 13, 5, 150 },
	{ "plenty", 900, 2, 16, 6, 60 },
};

MAM_KERNEL(alloc_keep_free)
{
	struct kit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t held[8], n;
	struct mam_kwalk walk;

	kit_start(kit, &walk);
	for (n = 0; n < plan->each; n++) {
		held[n] = mam_lone_take(kit->pages, &walk);
		if (held[n] == MAM_NO_PAGE) {
			kit_count_failure(kit);
			break;
		}
		kit_own(kit, held[n], 1);
	}
	/* No lane frees a page before all have allocated. */
	mam_syncthreads();
	while (mam_grid_blocks() == 1 && n--) {
		kit_disown(kit, held[n], 1);
		MAM_KASSERT(mam_release_lone(kit->pages, held[n]));
	}
}

static const char *no_request_failed(void *argument)
{
	struct kit *kit = argument;
	const struct plan *plan = kit->plan;

	if (kit->failed || kit->pages->tally[MAM_TALLY_FULL])
		return "a request failed though a page was free";
	return plan->grid == 1 ? kit_check_empty(kit) : kit_check(kit);
}

START_TEST(lone_lanes_get_every_page)
{
	const struct plan *plan = &plans[_i];
	struct kit *kit = kit_create(plan->count, plan);

	kit_explore(kit, plan->name, alloc_keep_free, plan->grid, plan->block, plan->seeds,
		    no_request_failed);
	kit_destroy(kit);
}
END_TEST

/* One lane in an empty heap: each request takes one look and returns the next page. */
MAM_KERNEL(one_after_another)
{
	struct kit *kit = argument;
	uint32_t page, last, i;
	struct mam_kwalk walk;

	kit_start(kit, &walk);
	last = mam_lone_take(kit->pages, &walk);
	for (i = 0; i < 150; i++) {
		page = mam_lone_take(kit->pages, &walk);
		MAM_KASSERT(page == (last + 1) % kit->count);
		MAM_KASSERT(walk.steps == i + 2);
		last = page;
	}
}

START_TEST(lone_lane_gets_consecutive_pages)
{
	struct kit *kit = kit_create(256, NULL);
	struct simt_case test = {
		.name = "consecutive pages",
		.kernel = one_after_another,
		.grid = 1,
		.block = 1,
		.argument = kit,
		.begin = kit_begin,
		.seeds = 5,
	};

	simt_must_pass(&test);
	kit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("lone");

	tcase_add_loop_test(tcase, lone_lanes_get_every_page, 0, sizeof(plans) / sizeof(plans[0]));
	tcase_add_test(tcase, lone_lane_gets_consecutive_pages);
	return kit_run(tcase, "heap/lone");
}
