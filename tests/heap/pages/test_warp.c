/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_warp.c - converged lanes: one look in an empty heap, sharing in a scarce one, divergent
 * groups, lanes that do not take part.
 */
#include "heap/kit.h"

struct plan {
	const char *name;
	uint32_t count, grid, block;
	uint32_t callers;
	uint32_t free_one_in; /* one in so many pages is free at the start */
	uint32_t seeds;
};

static void begin_sparse(void *argument)
{
	struct kit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t i;

	kit_begin(kit);
	for (i = 0; i < kit->count; i++)
		if (i * 2654435769u >> 8 & (plan->free_one_in - 1)) {
			mam_pages_bits(kit->pages)[i / 64] |= (uint64_t)1 << i % 64;
			kit->owner[i] = ~0u;
		}
}

static uint32_t lanes_of(const struct plan *plan)
{
	uint32_t thread, lanes = 0;

	for (thread = 0; thread < plan->block; thread++)
		lanes += plan->callers >> thread % 32 & 1;
	return lanes * plan->grid;
}

static const char *all_but_those_over(void *argument)
{
	struct kit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t free = 0, i, lanes = lanes_of(plan), fail;

	for (i = 0; i < kit->count; i++)
		free += !(i * 2654435769u >> 8 & (plan->free_one_in - 1));
	fail = lanes > free ? lanes - free : 0;
	if (kit->failed != fail)
		return kit->failed > fail ? "a request failed though a page was free"
					  : "more pages were allocated than were free";
	if (kit->pages->tally[MAM_TALLY_FULL] != fail)
		return "failures were not counted";
	return kit_check(kit);
}

MAM_KERNEL(take_one)
{
	struct kit *kit = argument;
	const struct plan *plan = kit->plan;
	struct mam_kwalk walk;
	uint32_t page;

	if (!(plan->callers >> mam_lane() & 1))
		return;
	kit_start(kit, &walk);
	page = mam_pages_take(kit->pages, &walk);
	if (page == MAM_NO_PAGE)
		kit_count_failure(kit);
	else
		kit_own(kit, page, 1);
}

/* From plenty to fewer pages than callers. */
static const struct plan sparse[] = {
	{ "half free", 640, 1, 64, ~0u, 2, 60 },
	{ "an eighth free", 1024, 2, 32, ~0u, 8, 60 },
	{ "a sixteenth free, nearly all requested", 1024, 1, 64, 0x7fffffff, 16, 60 },
	{ "a 32nd free, too few", 1000, 2, 32, ~0u, 32, 60 },
	{ "some lanes, far apart", 900, 2, 32, 0x00410821, 64, 100 },
	{ "two lanes, a free page in 128", 512, 1, 32, 0x80000001, 128, 100 },
};

START_TEST(warp_shares_scarce_pages)
{
	const struct plan *plan = &sparse[_i];
	struct kit *kit = kit_create(plan->count, plan);
	struct simt_case test = {
		.name = plan->name,
		.kernel = take_one,
		.grid = plan->grid,
		.block = plan->block,
		.argument = kit,
		.begin = begin_sparse,
		.check = all_but_those_over,
		.seeds = plan->seeds,
		.config = { .race = KIT_RACE },
	};

	simt_must_pass(&test);
	kit_destroy(kit);
}
END_TEST

/*
 * Converged lanes with a search that continues where it was: one look per request, adjacent pages.
 */
MAM_KERNEL(together)
{
	struct kit *kit = argument;
	uint32_t page, first = 0, last, steps, round;
	struct mam_kwalk walk;

	kit_start(kit, &walk);
	walk.blind = 1;
	for (round = 0; round < 4; round++) {
		steps = walk.steps;
		page = mam_warp_take(kit->pages, &walk, ~0u);
		MAM_KASSERT(page != MAM_NO_PAGE && walk.steps == steps + 1);
		last = first;
		first = mam_warp_shuffle32(~0u, page, 0);
		MAM_KASSERT(!round || first == (last + 32) % kit->count);
		MAM_KASSERT(page == first + mam_lane() && first % 32 == 0);
		MAM_KASSERT(walk.place == (first + 32) % kit->count);
		kit_own(kit, page, 1);
	}
}

START_TEST(converged_warp_takes_one_look)
{
	struct kit *kit = kit_create(1024, NULL);

	kit_explore(kit, "one look", together, 1, 32, 40, kit_check);
	kit_destroy(kit);
}
END_TEST

/* Groups of lanes call from different places in the code, and free in others. */
MAM_KERNEL(diverge)
{
	struct kit *kit = argument;
	uint32_t page, other, round, lane = mam_lane();
	struct mam_kwalk walk;

	kit_start(kit, &walk);
	for (round = 0; round < 2; round++) {
		if (lane % 3 == round)
			page = mam_pages_take(kit->pages, &walk);
		else if (lane % 3 == 2)
			page = mam_pages_take_run(kit->pages, &walk, 1 + lane % 2);
		else
			page = mam_lone_take(kit->pages, &walk);
		MAM_KASSERT(page != MAM_NO_PAGE);
		kit_own(kit, page, lane % 3 == 2 ? 1 + lane % 2 : 1);
		if (lane % 5 < 2) {
			other = mam_pages_take(kit->pages, &walk);
			MAM_KASSERT(other != MAM_NO_PAGE);
			kit_own(kit, other, 1);
			kit_disown(kit, other, 1);
			MAM_KASSERT(mam_pages_give(kit->pages, other));
		}
		kit_disown(kit, page, lane % 3 == 2 ? 1 + lane % 2 : 1);
		if (lane % 3 == 2)
			MAM_KASSERT(mam_pages_give_run(kit->pages, page, 1 + lane % 2));
		else
			MAM_KASSERT(mam_pages_give(kit->pages, page));
	}
}

START_TEST(divergent_groups_get_pages)
{
	/* More than twice the number of pages they own together, in each word. */
	struct kit *kit = kit_create(_i ? 1000 : 400, NULL);

	kit_explore(kit, _i ? "divergence, 1000" : "divergence, 400", diverge, 1, _i ? 64 : 32, 60,
		    NULL);
	kit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("warp");

	tcase_add_loop_test(tcase, warp_shares_scarce_pages, 0, sizeof(sparse) / sizeof(sparse[0]));
	tcase_add_test(tcase, converged_warp_takes_one_look);
	tcase_add_loop_test(tcase, divergent_groups_get_pages, 0, 2);
	return kit_run(tcase, "heap/warp");
}
