/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_scan.c - a heap is filled to its last page, then requests fail and are counted, then it
 * serves again.
 */
#include "heap/kit.h"

struct plan {
	const char *name;
	uint32_t count, grid, block;
	uint32_t callers;
	uint32_t each; /* pages that a lane requests */
	uint32_t seeds;
};

/* As many as there are, or fewer, or more. */
static const struct plan plans[] = {
	{ "one page for one lane", 1, 1, 1, 1, 1, 50 },
	{ "one page for four lanes", 1, 1, 32, 0x10101010, 1, 200 },
	{ "a word for two warps", 64, 2, 32, ~0u, 1, 60 },
	{ "a word minus one page for two warps", 63, 1, 64, ~0u, 1, 60 },
	{ "two words minus one page, two per lane", 127, 2, 32, ~0u, 2, 60 },
	{ "three words, lone lanes", 190, 4, 32, 1u << 9, 48, 60 },
	{ "five words for a warp", 320, 1, 32, ~0u, 10, 60 },
	{ "more than five words for a warp", 321, 1, 32, 0x7fffffff, 11, 60 },
	{ "no page at all", 0, 1, 32, 0x3, 1, 20 },
};

/*
 * Each lane allocates `each` pages and keeps them; all are freed; all allocate again: the same
 * result twice.
 */
MAM_KERNEL(fill_fail_free)
{
	struct kit *kit = argument;
	const struct plan *plan = kit->plan;
	struct mam_kwalk walk;
	uint32_t i, page;

	if (!(plan->callers >> mam_lane() & 1))
		return;
	kit_start(kit, &walk);
	for (i = 0; i < plan->each; i++) {
		page = mam_pages_take(kit->pages, &walk);
		if (page == MAM_NO_PAGE)
			kit_count_failure(kit);
		else
			kit_own(kit, page, 1);
	}
}

MAM_KERNEL(free_all)
{
	struct kit *kit = argument;
	uint32_t page, lanes = mam_grid_blocks() * simt_block_threads();

	for (page = kit_me() - 1; page < kit->count; page += lanes)
		if (mam_atomic_xchg32(&kit->owner[page], 0, MAM_RELAXED, MAM_AT_DEVICE))
			MAM_KASSERT(mam_pages_give(kit->pages, page));
}

static uint32_t asked(const struct plan *plan)
{
	uint32_t thread, lanes = 0;

	for (thread = 0; thread < plan->block; thread++)
		lanes += plan->callers >> thread % 32 & 1;
	return plan->grid * lanes * plan->each;
}

/* Two rounds, each launched after the other. */
static bool build(struct simt_world *world, void *argument)
{
	struct kit *kit = argument;
	const struct plan *plan = kit->plan;
	int round;

	for (round = 0; round < 2; round++)
		if (!simt_world_launch(world, 0, fill_fail_free, plan->grid, plan->block, kit) ||
		    !simt_world_launch(world, 0, free_all, 1, 40, kit))
			return false;
	return true;
}

/* No page is freed meanwhile, so exactly the requests beyond the number of pages fail. */
static const char *all_that_could(void *argument)
{
	struct kit *kit = argument;
	uint32_t want = asked(kit->plan), over = want > kit->count ? want - kit->count : 0;

	if (kit->failed != 2 * over)
		return kit->failed > 2 * over ? "a request failed though a page was free"
					      : "more pages were allocated than exist";
	if (kit->pages->tally[MAM_TALLY_FULL] != kit->failed ||
	    kit->pages->tally[MAM_TALLY_CONTENDED])
		return "failures were counted under the wrong cause";
	return kit_check_empty(kit);
}

START_TEST(heap_fills_to_last_page)
{
	const struct plan *plan = &plans[_i];
	struct kit *kit = kit_create(plan->count, plan);
	struct simt_case test = {
		.name = plan->name,
		.argument = kit,
		.begin = kit_begin,
		.check = all_that_could,
		.build = build,
		.seeds = plan->seeds,
		.config = { .race = KIT_RACE, .steps_max = 3000000 },
	};

	simt_must_pass(&test);
	kit_destroy(kit);
}
END_TEST

/* The statistical bound: so many unsuccessful looks and no more, then each word once. */
MAM_KERNEL(count_looks)
{
	struct kit *kit = argument;
	uint32_t words = kit->pages->words, jumps, units;
	struct mam_kwalk walk;

	kit_start(kit, &walk);
	if (mam_block()) {
		MAM_KASSERT(mam_pages_take(kit->pages, &walk) == MAM_NO_PAGE);
		/* In a warp of 32: patience / 64 words, 32 per look; plus one blind look. */
		jumps = (kit->pages->patience + 64 * 32 - 1) / (64 * 32);
		units = (words + 31) / 32;
	} else {
		if (mam_lane())
			return;
		MAM_KASSERT(mam_pages_take(kit->pages, &walk) == MAM_NO_PAGE);
		jumps = (kit->pages->patience + 64 * 4 - 1) / (64 * 4);
		units = (words + 3) / 4;
	}
	/* Lanes need not converge: groups are smaller then, and look more often. */
	MAM_KASSERT(walk.steps >= units);
	MAM_KASSERT(mam_block() || walk.steps <= 1 + jumps + units);
}

START_TEST(looks_are_bounded)
{
	struct kit *kit = kit_create(1024, NULL);
	struct simt_case test = {
		.name = "bound",
		.kernel = count_looks,
		.grid = 2,
		.block = 32,
		.argument = kit,
		.begin = kit_begin_full,
		.check = kit_check,
		.seeds = 40,
	};

	simt_must_pass(&test);
	kit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("scan");

	tcase_add_loop_test(tcase, heap_fills_to_last_page, 0, sizeof(plans) / sizeof(plans[0]));
	tcase_add_test(tcase, looks_are_bounded);
	return kit_run(tcase, "heap/scan");
}
