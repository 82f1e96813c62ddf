/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_undone.c - the protocol by which a scan reports "no page", piece by piece: what an abandoned
 * run leaves behind, what a scan reads of that, and when it gives up.
 */
#include "heap/kit.h"

/* Which page blocked the claim, and what `undone` counts: only what was claimed and released. */
static const struct {
	uint32_t first, end, stopped, undone;
} claims[] = {
	{ 65, 80, 70, 0 },            /* within a word */
	{ 60, 200, 70, 1 },           /* one word claimed and released */
	{ 71, 200, 150, 1 },          /* the same, and the highest blocking page */
	{ 69, 130, 70, 0 },           /* its first word not claimed: nothing to release */
	{ 121, 140, MAM_NO_PAGE, 0 }, /* two words claimed */
	{ 192, 220, MAM_NO_PAGE, 0 }, /* a page after it does not block it */
};

MAM_KERNEL(claim_each)
{
	struct kit *kit = argument;
	uint32_t i, page, undone, total = 0;

	for (i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
		undone = 5;
		page = mam_runs_claim(kit->pages, claims[i].first, claims[i].end, &undone);
		MAM_KASSERT(page == claims[i].stopped);
		MAM_KASSERT(undone == 5 + claims[i].undone);
		total += claims[i].undone;
		MAM_KASSERT(mam_scan_begin(kit->pages) == total);
		MAM_KASSERT(mam_scan_counts(kit->pages, total));
		if (page == MAM_NO_PAGE)
			MAM_KASSERT(mam_runs_release(mam_pages_bits(kit->pages), claims[i].first,
						     claims[i].end));
	}
}

static void begin_claims(void *argument)
{
	struct kit *kit = argument;

	kit_begin(kit);
	kit_fill(kit, 70, 71);
	kit_fill(kit, 140, 141);
	kit_fill(kit, 150, 151);
	kit_fill(kit, 220, 221);
}

START_TEST(abandoned_claim_is_released_and_counted)
{
	struct kit *kit = kit_create(256, NULL);

	kit_explore_from(kit, "abandoned claims", begin_claims, claim_each, 1, 1, 1, kit_check);
	kit_destroy(kit);
}
END_TEST

/* A run with one free page is still freed as a whole, and the call returns false. */
MAM_KERNEL(free_with_gap)
{
	struct kit *kit = argument;
	uint64_t *bits = mam_pages_bits(kit->pages);

	MAM_KASSERT(!mam_runs_release(bits, 30, 200));
	MAM_KASSERT(!mam_pages_give_run(kit->pages, 200, 40));
	MAM_KASSERT(mam_pages_give_run(kit->pages, 0, 30));
}

static void begin_gaps(void *argument)
{
	struct kit *kit = argument;

	kit_begin(kit);
	kit_fill(kit, 0, 240);
	kit_vacate(kit, 70);
	kit_vacate(kit, 210);
}

static const char *run_was_freed(void *argument)
{
	struct kit *kit = argument;

	memset(kit->owner, 0, sizeof(kit->owner));
	if (kit->pages->tally[MAM_TALLY_TWICE] != 1)
		return "the free of a free page was not counted";
	return kit_check(kit);
}

START_TEST(free_of_run_with_gap_fails_but_frees)
{
	struct kit *kit = kit_create(256, NULL);

	kit_explore_from(kit, "a run with a gap", begin_gaps, free_with_gap, 1, 1, 1,
			 run_was_freed);
	kit_destroy(kit);
}
END_TEST

/* A scan counts if no run is open and none was undone since it started. */
MAM_KERNEL(check_scan_counts)
{
	struct kit *kit = argument;
	uint32_t undone = mam_scan_begin(kit->pages);

	MAM_KASSERT(undone == 77);
	MAM_KASSERT(mam_scan_counts(kit->pages, 77));
	MAM_KASSERT(!mam_scan_counts(kit->pages, 76));
	MAM_KASSERT(!mam_scan_counts(kit->pages, 0));
	(void)mam_atomic_add32(&kit->pages->open.value, 1, MAM_RELAXED, MAM_AT_DEVICE);
	MAM_KASSERT(!mam_scan_counts(kit->pages, 77));
	(void)mam_atomic_add32(&kit->pages->open.value, (uint32_t)-1, MAM_RELAXED, MAM_AT_DEVICE);
	(void)mam_atomic_add32(&kit->pages->undone.value, 1, MAM_RELAXED, MAM_AT_DEVICE);
	MAM_KASSERT(!mam_scan_counts(kit->pages, 77));
}

static void begin_undone_before(void *argument)
{
	struct kit *kit = argument;

	kit_begin_full(kit);
	kit->pages->undone.value = 77;
}

START_TEST(scan_counts_only_if_nothing_was_undone)
{
	struct kit *kit = kit_create(128, NULL);

	kit_explore_from(kit, "whether a scan counts", begin_undone_before, check_scan_counts, 1, 1,
			 1, kit_check);
	kit_destroy(kit);
}
END_TEST

/* Three lanes of a warp, or one lane in the other block: the result of a scan of a full heap. */
#define ONCE (const void *)1

MAM_KERNEL(failing_scan)
{
	struct kit *kit = argument;
	uint32_t scans = kit->plan == ONCE ? 1 : MAM_SCANS_MAX;
	struct mam_kfound found;
	struct mam_kwalk walk;

	kit_start(kit, &walk);
	if (mam_block()) {
		if (mam_lane())
			return;
		found = mam_scan_lone(kit->pages, walk);
	} else {
		walk.state = 12345;
		found = mam_warp_scan(kit->pages, walk, 7, MAM_NO_PAGE);
	}
	MAM_KASSERT(found.page == MAM_NO_PAGE);
	/* Both words are one look. */
	MAM_KASSERT(found.walk.steps == scans);
}

static const char *four_were_refused(void *argument)
{
	struct kit *kit = argument;
	bool once = kit->plan == ONCE;

	if (kit->pages->tally[MAM_TALLY_FULL] != (once ? 4 : 0))
		return "a failure in a full heap was counted under the wrong cause";
	if (kit->pages->tally[MAM_TALLY_CONTENDED] != (once ? 0 : 4))
		return "a scan that gave up was counted under the wrong cause";
	kit->pages->open.value = 0;
	return kit_check(kit);
}

/* Claims undone before a scan started do not affect it. */
START_TEST(earlier_undone_claim_does_not_matter)
{
	struct kit *kit = kit_create(128, ONCE);

	kit_explore_from(kit, "undone before", begin_undone_before, failing_scan, 2, 3, 20,
			 four_were_refused);
	kit_destroy(kit);
}
END_TEST

static void begin_stuck(void *argument)
{
	struct kit *kit = argument;

	begin_undone_before(kit);
	kit->pages->open.value = 1;
}

/* A run that stays open: a bounded number of scans, and the failure is counted as contention. */
START_TEST(scan_gives_up_while_run_is_open)
{
	struct kit *kit = kit_create(128, NULL);

	kit_explore_from(kit, "a run stays open", begin_stuck, failing_scan, 2, 3, 2,
			 four_were_refused);
	kit_destroy(kit);
}
END_TEST

/* A lane that found pages does not check whether the scan counts. */
MAM_KERNEL(scan_and_find)
{
	struct kit *kit = argument;
	struct mam_kfound found;
	struct mam_kwalk walk;

	kit_start(kit, &walk);
	walk.state = 12345;
	found = mam_warp_scan(kit->pages, walk, 7, MAM_NO_PAGE);
	MAM_KASSERT(found.page != MAM_NO_PAGE && found.walk.steps == 1);
	kit_own(kit, found.page, 1);
}

static void begin_stuck_with_three(void *argument)
{
	struct kit *kit = argument;

	begin_stuck(kit);
	kit_vacate(kit, 3);
	kit_vacate(kit, 62);
	kit_vacate(kit, 63);
}

static const char *none_was_refused(void *argument)
{
	struct kit *kit = argument;

	if (kit->pages->tally[MAM_TALLY_FULL] || kit->pages->tally[MAM_TALLY_CONTENDED])
		return "a failure was counted";
	kit->pages->open.value = 0;
	return kit_check(kit);
}

START_TEST(successful_scan_needs_no_proof)
{
	struct kit *kit = kit_create(128, NULL);
	struct simt_case test = {
		.name = "a scan that finds",
		.kernel = scan_and_find,
		.grid = 1,
		.block = 3,
		.argument = kit,
		.begin = begin_stuck_with_three,
		.check = none_was_refused,
		.seeds = 20,
		/* There is no second scan: a thousand scans take far more steps. */
		.config = { .race = KIT_RACE, .strict = true, .steps_max = 1000 },
	};

	simt_must_pass(&test);
	kit_destroy(kit);
}
END_TEST

/*
 * The last page of word 1 is the only free one. A run of it and the next page is claimed and
 * abandoned. A scan meanwhile may see that page taken temporarily, but must not report that there
 * is none: by one lane, or by two, of which the second looks at that word.
 */
#define TOGETHER (const void *)1

MAM_KERNEL(scan_beside_a_claim)
{
	struct kit *kit = argument;
	uint32_t undone = 0;
	struct mam_kfound found;
	struct mam_kwalk walk;

	kit_start(kit, &walk);
	if (mam_block()) {
		if (!mam_lane())
			(void)mam_runs_claim(kit->pages, 127, 129, &undone);
		return;
	}
	if (kit->plan == TOGETHER) {
		walk.state = 12345;
		found = mam_warp_scan(kit->pages, walk, 3, MAM_NO_PAGE);
	} else if (mam_lane()) {
		return;
	} else {
		found = mam_scan_lone(kit->pages, walk);
	}
	if (found.page == MAM_NO_PAGE)
		kit_count_failure(kit);
	else
		kit_own(kit, found.page, 1);
}

static void begin_but_one(void *argument)
{
	struct kit *kit = argument;

	kit_begin_full(kit);
	kit_vacate(kit, 127);
}

static const char *one_was_served(void *argument)
{
	struct kit *kit = argument;
	uint32_t refused = kit->plan == TOGETHER ? 1 : 0;

	if (kit->failed != refused || kit->pages->tally[MAM_TALLY_FULL] != refused)
		return "a request failed though the page was free in the end";
	return kit_check(kit);
}

START_TEST(temporary_claim_hides_no_page)
{
	struct kit *kit = kit_create(256, _i ? TOGETHER : NULL);

	kit_explore_from(kit, _i ? "two lanes beside a claim" : "a lane beside a claim",
			 begin_but_one, scan_beside_a_claim, 2, 2, 500, one_was_served);
	kit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("undone");

	tcase_add_test(tcase, abandoned_claim_is_released_and_counted);
	tcase_add_test(tcase, free_of_run_with_gap_fails_but_frees);
	tcase_add_test(tcase, scan_counts_only_if_nothing_was_undone);
	tcase_add_test(tcase, earlier_undone_claim_does_not_matter);
	tcase_add_test(tcase, scan_gives_up_while_run_is_open);
	tcase_add_test(tcase, successful_scan_needs_no_proof);
	tcase_add_loop_test(tcase, temporary_claim_hides_no_page, 0, 2);
	return kit_run(tcase, "heap/undone");
}
