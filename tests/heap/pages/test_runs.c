/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_runs.c - runs of consecutive pages: no overlap, all or nothing, up to the whole heap; of two
 * that want all of it one gets it; and nothing is refused that nobody has.
 */
#include "heap/kit.h"

struct plan {
	const char *name;
	uint32_t count, grid, block;
	uint32_t callers;  /* which lanes of a warp take part */
	uint32_t min, max; /* pages of a run */
	uint32_t rounds;
	uint32_t seeds;
};

static uint32_t length(const struct plan *plan, uint32_t round)
{
	return plan->min + (kit_me() * 7 + round * 13) % (plan->max - plan->min + 1);
}

MAM_KERNEL(take_and_give)
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
	{ "short ones in three words", 150, 1, 32, 0x0f0f0f0f, 1, 9, 2, 60 },
	{ "a word long, over borders", 260, 2, 32, 0x00030001, 60, 70, 2, 150 },
	{ "up to all of it, lone lanes", 200, 4, 32, 1u << 3, 1, 200, 3, 150 },
	{ "most of it, lanes of a warp", 330, 1, 32, 0x0000000f, 100, 330, 2, 100 },
	{ "few lanes, odd count", 127, 3, 32, 0x80000001, 30, 127, 2, 150 },
};

START_TEST(runs)
{
	const struct plan *plan = &mixed[_i];
	struct kit *kit = kit_create(plan->count, plan);

	kit_explore(kit, plan->name, take_and_give, plan->grid, plan->block, plan->seeds, NULL);
	kit_destroy(kit);
}
END_TEST

/* Everybody asks once and keeps; kit->failed counts who got nothing. */
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

static const char *one_got_it(void *argument)
{
	struct kit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t lanes = plan->grid * (uint32_t)__builtin_popcount(plan->callers);

	if (kit->failed != lanes - 1)
		return kit->failed == lanes ? "nobody got the whole heap" : "two got all of it";
	if (kit->pages->tally[MAM_TALLY_NO_RUN] != kit->failed ||
	    kit->pages->tally[MAM_TALLY_CONTENDED])
		return "the failure was not counted as what it was";
	return kit_check(kit);
}

static const struct plan whole[] = {
	{ "the whole heap, two blocks", 200, 2, 32, 1, 200, 200, 1, 800 },
	{ "the whole heap, three lanes of a warp", 130, 1, 32, 7, 130, 130, 1, 300 },
	{ "the whole heap of one word", 64, 3, 32, 1, 64, 64, 1, 300 },
	{ "the whole heap of five pages", 5, 2, 32, 3, 5, 5, 1, 300 },
};

START_TEST(whole_heap)
{
	const struct plan *plan = &whole[_i];
	struct kit *kit = kit_create(plan->count, plan);

	kit_explore(kit, plan->name, take_and_keep, plan->grid, plan->block, plan->seeds,
		    one_got_it);
	kit_destroy(kit);
}
END_TEST

static const char *all_got_one(void *argument)
{
	struct kit *kit = argument;

	return kit->failed ? "a run was refused that there was room for" : kit_check(kit);
}

/*
 * Whatever the order, there is room: the gaps that others leave are shorter than a run, or
 * there are enough pages.
 */
static const struct plan enough[] = {
	{ "pairs of a heap four times as large", 256, 1, 32, ~0u, 2, 2, 1, 60 },
	{ "threes", 400, 2, 32, 0x00ffff00, 3, 3, 1, 60 },
	{ "over word borders", 800, 3, 32, 0x00000003, 65, 65, 1, 150 },
	{ "mixed with pages", 1000, 2, 32, 0x0000ffff, 1, 15, 1, 60 },
};

START_TEST(room_for_all)
{
	const struct plan *plan = &enough[_i];
	struct kit *kit = kit_create(plan->count, plan);

	kit_explore(kit, plan->name, take_and_keep, plan->grid, plan->block, plan->seeds,
		    all_got_one);
	kit_destroy(kit);
}
END_TEST

/*
 * Some lanes claim most of the heap again and again, and often give up half-way; the others ask
 * for a page each, of which there are enough beside one such run: all must get one, whatever was
 * seen taken by claims that came to nothing.
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

START_TEST(claims_given_up)
{
	const struct plan *plan = &among[_i];
	struct kit *kit = kit_create(plan->count, plan);

	kit_explore(kit, plan->name, pages_among_claims, plan->grid, plan->block, plan->seeds,
		    all_got_one);
	kit_destroy(kit);
}
END_TEST

/*
 * Lanes that call together from an empty heap: side by side, and back again; the second time is
 * refused to each.
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
		/* One place for all, from where the heap has room for all. */
		walk.place = 0;
		page = mam_runs_take_packed(kit->pages, &walk, plan->callers, n);
		/* As many in a word as go in, one right after the other. */
		MAM_KASSERT(page == rank / (64 / n) * 64 + rank % (64 / n) * n);
		kit_own(kit, page, n);
		kit_disown(kit, page, n);
		MAM_KASSERT(mam_runs_release_warp(kit->pages, page, n, plan->callers));
		MAM_KASSERT(!mam_runs_release_warp(kit->pages, page, n, plan->callers));
	}
}

static const struct plan lines[] = {
	{ "side by side, a warp", 1024, 1, 32, ~0u, 2, 32, 1, 10 },
	{ "side by side, some lanes", 1000, 1, 32, 0x00f1f011, 2, 32, 1, 10 },
	{ "side by side, two lanes", 192, 1, 32, 0x80000100, 2, 32, 1, 10 },
};

START_TEST(in_line)
{
	const struct plan *plan = &lines[_i];
	struct kit *kit = kit_create(plan->count, plan);

	kit_explore(kit, plan->name, side_by_side, plan->grid, plan->block, plan->seeds, NULL);
	kit_destroy(kit);
}
END_TEST

/* What is no run, and what is not the caller's. */
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
	/* A part of a run may go back by itself, and is free then. */
	MAM_KASSERT(mam_pages_give_run(kit->pages, page, 3));
	MAM_KASSERT(!mam_pages_give_run(kit->pages, page + 2, 2));
	MAM_KASSERT(mam_pages_give_run(kit->pages, page + 4, 66));
}

static const char *bad_ones_counted(void *argument)
{
	struct kit *kit = argument;

	if (kit->pages->tally[MAM_TALLY_BAD_SIZE] != 3)
		return "requests of no size";
	if (kit->pages->tally[MAM_TALLY_FOREIGN] != 5 || kit->pages->tally[MAM_TALLY_TWICE] != 1)
		return "what was given back wrongly";
	return kit_check_empty(kit);
}

START_TEST(bad_ones)
{
	struct kit *kit = kit_create(150, NULL);

	kit_explore(kit, "bad ones", bad_sizes, 1, 1, 1, bad_ones_counted);
	kit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("runs");

	tcase_add_loop_test(tcase, runs, 0, sizeof(mixed) / sizeof(mixed[0]));
	tcase_add_loop_test(tcase, whole_heap, 0, sizeof(whole) / sizeof(whole[0]));
	tcase_add_loop_test(tcase, room_for_all, 0, sizeof(enough) / sizeof(enough[0]));
	tcase_add_loop_test(tcase, claims_given_up, 0, 2);
	tcase_add_loop_test(tcase, in_line, 0, sizeof(lines) / sizeof(lines[0]));
	tcase_add_test(tcase, bad_ones);
	return kit_run(tcase, "heap/runs");
}
