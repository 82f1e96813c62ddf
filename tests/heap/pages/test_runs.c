/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_runs.c - runs of consecutive pages: no overlap, all or nothing, up to the whole heap. If two
 * lanes request the whole heap, one gets it. No request fails for pages that no lane owns.
 */
#include "heap/kit.h"

struct plan {
	const char *name;
	uint32_t count, grid, block;
	uint32_t callers;  /* which lanes of a warp call */
	uint32_t min, max; /* pages of a run */
	uint32_t rounds;
	uint32_t seeds;
};

static uint32_t length(const struct plan *plan, uint32_t round)
{
	return plan->min + (kit_me() * 7 + round * 13) % (plan->max - plan->min + 1);
}

MAM_KERNEL(alloc_and_free)
{
	struct kit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t round, page, n;
	struct mam_kwalk walk;

	if (!(plan->callers >> mam_lane() & 1))
		return;
	kit_start(kit, &walk);
	for (round = 0; round < plan->rounds; round++) {
		n = length(plan, round);
		page = mam_pages_take_run(kit->pages, &walk, n);
		if (page == MAM_NO_PAGE)
			continue;
		kit_own(kit, page, n);
		kit_disown(kit, page, n);
		MAM_KASSERT(mam_pages_give_run(kit->pages, page, n));
	}
}

static const struct plan mixed[] = {
	{ "pairs in a word, two warps", 64, 1, 64, 0x11111111, 2, 2, 2, 60 },
	{ "short runs in three words", 150, 1, 32, 0x0f0f0f0f, 1, 9, 2, 60 },
	{ "a word long, across word boundaries", 260, 2, 32, 0x00030001, 60, 70, 2, 150 },
	{ "up to the whole heap, lone lanes", 200, 4, 32, 1u << 3, 1, 200, 3, 150 },
	{ "most of the heap, lanes of a warp", 330, 1, 32, 0x0000000f, 100, 330, 2, 100 },
	{ "few lanes, odd count", 127, 3, 32, 0x80000001, 30, 127, 2, 150 },
};

START_TEST(runs_do_not_overlap)
{
	const struct plan *plan = &mixed[_i];
	struct kit *kit = kit_create(plan->count, plan);

	kit_explore(kit, plan->name, alloc_and_free, plan->grid, plan->block, plan->seeds, NULL);
	kit_destroy(kit);
}
END_TEST

/* Each lane makes one request and keeps the run; kit->failed counts the failed requests. */
MAM_KERNEL(take_and_keep)
{
	struct kit *kit = argument;
	const struct plan *plan = kit->plan;
	struct mam_kwalk walk;
	uint32_t page, n = length(plan, 0);

	if (!(plan->callers >> mam_lane() & 1))
		return;
	kit_start(kit, &walk);
	page = mam_pages_take_run(kit->pages, &walk, n);
	if (page == MAM_NO_PAGE)
		kit_count_failure(kit);
	else
		kit_own(kit, page, n);
}

static const char *one_served(void *argument)
{
	struct kit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t lanes = plan->grid * (uint32_t)__builtin_popcount(plan->callers);

	if (kit->failed != lanes - 1)
		return kit->failed == lanes ? "no lane got the whole heap"
					    : "two lanes got the whole heap";
	if (kit->pages->tally[MAM_TALLY_NO_RUN] != kit->failed ||
	    kit->pages->tally[MAM_TALLY_CONTENDED])
		return "a failure was counted under the wrong cause";
	return kit_check(kit);
}

static const struct plan whole[] = {
	{ "the whole heap, two blocks", 200, 2, 32, 1, 200, 200, 1, 800 },
	{ "the whole heap, three lanes of a warp", 130, 1, 32, 7, 130, 130, 1, 300 },
	{ "the whole heap of one word", 64, 3, 32, 1, 64, 64, 1, 300 },
	{ "the whole heap of five pages", 5, 2, 32, 3, 5, 5, 1, 300 },
};

START_TEST(one_lane_gets_whole_heap)
{
	const struct plan *plan = &whole[_i];
	struct kit *kit = kit_create(plan->count, plan);

	kit_explore(kit, plan->name, take_and_keep, plan->grid, plan->block, plan->seeds,
		    one_served);
	kit_destroy(kit);
}
END_TEST

static const char *all_requests_served(void *argument)
{
	struct kit *kit = argument;

	return kit->failed ? "a request failed though there was room for the run" : kit_check(kit);
}

/*
 * There is room in every order: the gaps between other runs are shorter than a run, or there are
 * enough pages.
 */
static const struct plan enough[] = {
	{ "pairs in a heap four times as large", 256, 1, 32, ~0u, 2, 2, 1, 60 },
	{ "threes", 400, 2, 32, 0x00ffff00, 3, 3, 1, 60 },
	{ "across word boundaries", 800, 3, 32, 0x00000003, 65, 65, 1, 150 },
	{ "mixed with pages", 1000, 2, 32, 0x0000ffff, 1, 15, 1, 60 },
};

START_TEST(all_runs_fit)
{
	const struct plan *plan = &enough[_i];
	struct kit *kit = kit_create(plan->count, plan);

	kit_explore(kit, plan->name, take_and_keep, plan->grid, plan->block, plan->seeds,
		    all_requests_served);
	kit_destroy(kit);
}
END_TEST

/*
 * Some lanes claim most of the heap repeatedly and often abandon a claim half-way. Each of the
 * others requests a page; there are enough of these beside one such run. All must get one, although
 * they see pages that are only claimed temporarily.
 */
MAM_KERNEL(pages_among_claims)
{
	struct kit *kit = argument;
	const struct plan *plan = kit->plan;
	struct mam_kwalk walk;
	uint32_t page, round;

	kit_start(kit, &walk);
	if (mam_lane() == 0) {
		for (round = 0; round < plan->rounds; round++) {
			page = mam_pages_take_run(kit->pages, &walk, plan->max);
			if (page == MAM_NO_PAGE)
				continue;
			kit_own(kit, page, plan->max);
			kit_disown(kit, page, plan->max);
			MAM_KASSERT(mam_pages_give_run(kit->pages, page, plan->max));
		}
	} else if (plan->callers >> mam_lane() & 1) {
		page = mam_pages_take(kit->pages, &walk);
		if (page == MAM_NO_PAGE)
			kit_count_failure(kit);
		else
			kit_own(kit, page, 1);
	}
}

static const struct plan among[] = {
	{ "pages among claims of most of 200", 200, 3, 32, 0x00ff00fe, 0, 150, 2, 200 },
	{ "lone pages among claims of most of 130", 130, 4, 32, 0x00000010, 0, 120, 3, 300 },
};

START_TEST(abandoned_claims_fail_no_request)
{
	const struct plan *plan = &among[_i];
	struct kit *kit = kit_create(plan->count, plan);

	kit_explore(kit, plan->name, pages_among_claims, plan->grid, plan->block, plan->seeds,
		    all_requests_served);
	kit_destroy(kit);
}
END_TEST

/*
 * Lanes of a converged warp allocate adjacent runs from an empty heap and free them; the second
 * free of each fails.
 */
MAM_KERNEL(side_by_side)
{
	struct kit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t page, n, rank = mam_popc32(plan->callers & ((1u << mam_lane()) - 1));
	struct mam_kwalk walk;

	if (!(plan->callers >> mam_lane() & 1))
		return;
	kit_start(kit, &walk);
	for (n = plan->min; n <= plan->max; n++) {
		/* One position for all, from where the heap has room for all. */
		walk.place = 0;
		page = mam_runs_take_packed(kit->pages, &walk, plan->callers, n);
		/* As many per word as fit, without gaps. */
		MAM_KASSERT(page == rank / (64 / n) * 64 + rank % (64 / n) * n);
		kit_own(kit, page, n);
		kit_disown(kit, page, n);
		MAM_KASSERT(mam_runs_release_warp(kit->pages, page, n, plan->callers));
		MAM_KASSERT(!mam_runs_release_warp(kit->pages, page, n, plan->callers));
	}
}

static const struct plan lines[] = {
	{ "adjacent runs, a warp", 1024, 1, 32, ~0u, 2, 32, 1, 10 },
	{ "adjacent runs, some lanes", 1000, 1, 32, 0x00f1f011, 2, 32, 1, 10 },
	{ "adjacent runs, two lanes", 192, 1, 32, 0x80000100, 2, 32, 1, 10 },
};

START_TEST(converged_lanes_get_adjacent_runs)
{
	const struct plan *plan = &lines[_i];
	struct kit *kit = kit_create(plan->count, plan);

	kit_explore(kit, plan->name, side_by_side, plan->grid, plan->block, plan->seeds, NULL);
	kit_destroy(kit);
}
END_TEST

/* Invalid sizes, and runs that do not belong to the caller. */
MAM_KERNEL(bad_sizes)
{
	struct kit *kit = argument;
	struct mam_kwalk walk;
	uint32_t page;

	kit_start(kit, &walk);
	MAM_KASSERT(mam_pages_take_run(kit->pages, &walk, 0) == MAM_NO_PAGE);
	MAM_KASSERT(mam_pages_take_run(kit->pages, &walk, kit->count + 1) == MAM_NO_PAGE);
	MAM_KASSERT(mam_pages_take_run(kit->pages, &walk, ~0u) == MAM_NO_PAGE);
	MAM_KASSERT(!mam_pages_give_run(kit->pages, 0, 0));
	MAM_KASSERT(!mam_pages_give_run(kit->pages, kit->count, 1));
	MAM_KASSERT(!mam_pages_give_run(kit->pages, kit->count - 1, 2));
	MAM_KASSERT(!mam_pages_give_run(kit->pages, 1, ~0u));
	MAM_KASSERT(!mam_pages_give_run(kit->pages, MAM_NO_PAGE, 1));
	page = mam_pages_take_run(kit->pages, &walk, 70);
	MAM_KASSERT(page != MAM_NO_PAGE);
	/* A part of a run may be freed on its own, and is free then. */
	MAM_KASSERT(mam_pages_give_run(kit->pages, page, 3));
	MAM_KASSERT(!mam_pages_give_run(kit->pages, page + 2, 2));
	MAM_KASSERT(mam_pages_give_run(kit->pages, page + 4, 66));
}

static const char *bad_ones_counted(void *argument)
{
	struct kit *kit = argument;

	if (kit->pages->tally[MAM_TALLY_BAD_SIZE] != 3)
		return "wrong number of requests with an invalid size";
	if (kit->pages->tally[MAM_TALLY_FOREIGN] != 5 || kit->pages->tally[MAM_TALLY_TWICE] != 1)
		return "wrong number of invalid frees or double frees";
	return kit_check_empty(kit);
}

START_TEST(invalid_run_fails)
{
	struct kit *kit = kit_create(150, NULL);

	kit_explore(kit, "invalid runs", bad_sizes, 1, 1, 1, bad_ones_counted);
	kit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("runs");

	tcase_add_loop_test(tcase, runs_do_not_overlap, 0, sizeof(mixed) / sizeof(mixed[0]));
	tcase_add_loop_test(tcase, one_lane_gets_whole_heap, 0, sizeof(whole) / sizeof(whole[0]));
	tcase_add_loop_test(tcase, all_runs_fit, 0, sizeof(enough) / sizeof(enough[0]));
	tcase_add_loop_test(tcase, abandoned_claims_fail_no_request, 0, 2);
	tcase_add_loop_test(tcase, converged_lanes_get_adjacent_runs, 0,
			    sizeof(lines) / sizeof(lines[0]));
	tcase_add_test(tcase, invalid_run_fails);
	return kit_run(tcase, "heap/runs");
}
