/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_published_runs.c - RW_malloc: runs of every length up to a region, of lanes with different
 * requests, in heaps where runs collide; its parts are compared with their definitions.
 */
#include "tools/bench/papers/published.h"

static void format_rwmalloc(void *s, uint32_t count, uint32_t low)
{
	mam_rwmalloc_format(s, count, low);
}

static uint32_t take_rwmalloc(void *s, struct mam_published_walk *walk, uint32_t n)
{
	return mam_rwmalloc_take(s, walk, n);
}

static bool give_rwmalloc(void *s, uint32_t page, uint32_t n)
{
	return mam_rwmalloc_give(s, page, n);
}

static const struct published rwmalloc = { "rwmalloc",    mam_rwmalloc_bytes, format_rwmalloc,
					   take_rwmalloc, give_rwmalloc,      published_unit,
					   NULL };

static const char *all_is_back(void *argument)
{
	return published_metadata(argument, 0);
}

static const char *served_and_back(void *argument)
{
	struct published_job *job = argument;

	return job->failed ? published_wrong(job, "requests failed", job->failed)
			   : published_metadata(job, 0);
}

static void churn(const char *name, simt_kernel *kernel, unsigned int grid, unsigned int block,
		  uint32_t count, uint32_t low, uint32_t rounds, uint32_t max,
		  const char *(*check)(void *), unsigned int seeds)
{
	struct published_job *job = published_job(&rwmalloc, count, low, rounds);
	struct simt_case test = { .name = name,
				  .kernel = kernel,
				  .grid = grid,
				  .block = block,
				  .argument = job,
				  .begin = published_begin,
				  .check = check,
				  .seeds = PUBLISHED_RACE ? seeds / 2 + 1 : seeds,
				  .config.race = PUBLISHED_RACE };

	job->max = max;
	simt_must_pass(&test);
	published_end(job);
}

/* Requests of one unit; then small ones; room for all: no request fails. */
START_TEST(no_request_fails_with_room_for_all)
{
	churn("one unit", published_churn, 2, 64, 128, 1, 2, 1, served_and_back, 20);
	churn("up to 8 units", published_churn, 2, 32, 1024, 5, 3, 8, served_and_back, 20);
	churn("up to 70 units", published_churn, 1, 32, 4096, 1, 3, 70, served_and_back, 15);
}
END_TEST

/* Too little for all: runs collide, lose units, are freed. */
START_TEST(runs_collide)
{
	churn("five units", published_churn, 3, 8, 5, 600, 3, 3, all_is_back, 60);
	churn("40 units", published_churn, 2, 20, 40, 600, 3, 12, all_is_back, 50);
	churn("150 units", published_churn, 2, 32, 150, 600, 2, 64, all_is_back, 25);
	churn("no unit", published_churn, 1, 32, 0, 5, 1, 3, all_is_back, 2);
}
END_TEST

/* Few lanes: regions of few words, and runs longer than those. */
START_TEST(few_lanes)
{
	churn("one lane per block", published_churn, 4, 1, 300, 100, 4, 100, all_is_back, 50);
	churn("two lanes, long runs", published_churn, 3, 2, 4096, 100, 3, 1024, all_is_back, 40);
	churn("lanes that diverge", published_part, 2, 32, 400, 500, 2, 40, all_is_back, 15);
	churn("45 lanes", published_churn, 1, 45, 600, 500, 2, 90, all_is_back, 15);
}
END_TEST

static bool refill(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 0, published_fill, 2, 32, argument) &&
	       simt_world_launch(world, 0, published_empty, 2, 32, argument) &&
	       simt_world_launch(world, 0, published_fill, 2, 32, argument);
}

static const char *metadata_agree(void *argument)
{
	struct published_job *job = argument;
	uint32_t id, round, units = 0;

	for (id = 0; id < 64; id++) {
		for (round = 0; round < job->rounds; round++) {
			if (job->taken[id * job->rounds + round] != MAM_NO_PAGE)
				units += published_n(job, id, round);
		}
	}
	if (units > job->count || units < job->count / 2)
		return published_wrong(job, "units were allocated", units);
	return published_metadata(job, units);
}

START_TEST(fill_free_and_fill_again)
{
	struct published_job *job = published_job(&rwmalloc, 600, 500, 2);
	struct simt_case test = { .name = "refill",
				  .argument = job,
				  .begin = published_begin,
				  .build = refill,
				  .check = metadata_agree,
				  .seeds = 6,
				  .config.race = PUBLISHED_RACE };

	job->max = 20;
	simt_must_pass(&test);
	published_end(job);
}
END_TEST

/*
 * A lane alone, then a whole warp: every length is served from an empty heap, and a length that is
 * too large is not.
 */
MAM_KERNEL(every_length)
{
	struct published_job *job = argument;
	struct mam_published_walk walk;
	uint32_t n, page;

	mam_published_start(&walk, (uint32_t)simt_random());
	for (n = 1; n <= MAM_RWMALLOC_UNITS; n += n < 70 ? 1 : 53) {
		page = mam_rwmalloc_take(job->s, &walk, n);
		MAM_KASSERT(page != MAM_NO_PAGE && page + n <= job->count);
		published_leave(job, page, n);
	}
	page = mam_rwmalloc_take(job->s, &walk, MAM_RWMALLOC_UNITS);
	MAM_KASSERT(page != MAM_NO_PAGE);
	published_leave(job, page, MAM_RWMALLOC_UNITS);
	MAM_KASSERT(mam_rwmalloc_take(job->s, &walk, 0) == MAM_NO_PAGE);
	MAM_KASSERT(mam_rwmalloc_take(job->s, &walk, MAM_RWMALLOC_UNITS + 1) == MAM_NO_PAGE);
	MAM_KASSERT(mam_rwmalloc_take(job->s, &walk, 0xffffffffu) == MAM_NO_PAGE);
	MAM_KASSERT(!mam_rwmalloc_give(job->s, 0, 0));
	MAM_KASSERT(!mam_rwmalloc_give(job->s, job->count, 1));
	MAM_KASSERT(!mam_rwmalloc_give(job->s, job->count - 1, 2));
	MAM_KASSERT(!mam_rwmalloc_give(job->s, 1, 0xffffffffu));
}

START_TEST(every_length_is_served)
{
	churn("every length, one lane", every_length, 1, 1, 1100, 1, 1, 1, all_is_back, 2);
	churn("every length, a heap of one region", every_length, 1, 1, 1024, 1, 1, 1, all_is_back,
	      2);
}
END_TEST

/*
 * A whole warp in one region: all free units are found, in one step, unless they are in too small
 * pieces.
 */
static void only_some_are_free(void *argument)
{
	struct published_job *job = argument;
	uint32_t *words = (uint32_t *)((struct mam_rwmalloc *)job->s + 1), i;

	published_begin(job);
	for (i = 0; i < 32; i++)
		words[i] = 0x00ffff00; /* 16 free units in a row, across words; 8 at both ends */
}

static const char *half_was_free(void *argument)
{
	struct published_job *job = argument;
	uint32_t i;

	for (i = 0; i < 32; i++) {
		if (job->taken[i] == MAM_NO_PAGE)
			return published_wrong(job, "not served", i);
	}
	/* 32 times 12 units, each in a run of 16 or, at one end, of the 8 of two requests. */
	return published_metadata(job, 512 + 31 * 12 + 8);
}

MAM_KERNEL(runs_across)
{
	struct published_job *job = argument;
	struct mam_published_walk walk;
	uint32_t lane = mam_lane(), n = lane == 17 ? 8 : 12;

	mam_published_start(&walk, (uint32_t)simt_random());
	job->taken[lane] = mam_rwmalloc_together(job->s, &walk, ~0u, n);
	MAM_KASSERT(walk.steps == 1);
	if (n == 12)
		MAM_KASSERT(job->taken[lane] % 32 >= 24 && job->taken[lane] % 32 <= 28);
}

START_TEST(segments_are_joined)
{
	struct published_job *job = published_job(&rwmalloc, 1024, 5, 1);
	struct simt_case test = { .name = "joined",
				  .kernel = runs_across,
				  .grid = 1,
				  .block = 32,
				  .argument = job,
				  .begin = only_some_are_free,
				  .check = half_was_free,
				  .seeds = 5,
				  .config.race = PUBLISHED_RACE };

	simt_must_pass(&test);
	published_end(job);
}
END_TEST

/*
 * A lane alone finds the one run of 40 that starts in the middle of a word and ends in another one.
 */
static void only_one_run(void *argument)
{
	struct published_job *job = argument;
	uint32_t *words = (uint32_t *)((struct mam_rwmalloc *)job->s + 1), i;

	published_begin(job);
	for (i = 0; i < 64; i++)
		words[i] = i == 40 ? 0x00000fff : i == 41 ? 0xfff00000 : i % 2 ? ~0u : 0x0000ffff;
}

MAM_KERNEL(take_forty)
{
	struct published_job *job = argument;
	struct mam_published_walk walk;

	mam_published_start(&walk, (uint32_t)simt_random());
	MAM_KASSERT(mam_rwmalloc_take(job->s, &walk, 41) == MAM_NO_PAGE);
	MAM_KASSERT(mam_rwmalloc_take(job->s, &walk, 40) == 40 * 32 + 12);
	MAM_KASSERT(mam_rwmalloc_take(job->s, &walk, 40) == MAM_NO_PAGE);
}

START_TEST(run_across_words_is_found_by_one_lane)
{
	struct published_job *job = published_job(&rwmalloc, 2048, 5, 1);
	struct simt_case test = { .name = "alone, across",
				  .kernel = take_forty,
				  .grid = 1,
				  .block = 1,
				  .argument = job,
				  .begin = only_one_run,
				  .seeds = 3,
				  .config.race = PUBLISHED_RACE };

	simt_must_pass(&test);
	published_end(job);
}
END_TEST

/* The lowest position of a run, unit by unit. */
static uint32_t fit_by_hand(uint32_t free, uint32_t ahead, uint32_t n)
{
	uint32_t at, i;

	for (at = 0; at < 32; at++) {
		for (i = at; i < at + n; i++) {
			if (i < 32 ? !(free >> i & 1) : i - 32 >= ahead)
				break;
		}
		if (i == at + n)
			return at;
	}
	return 32;
}

START_TEST(parts_match_their_definitions)
{
	uint32_t x = 1, i, n, ahead;

	for (i = 0; i < 20000; i++) {
		x = mam_published_mix(x + i);
		n = 1 + x % 100;
		ahead = x >> 8 & 127;
		/* Many, half, few bits; and heads and tails. */
		x = mam_published_mix(x);
		x = i % 4 == 0   ? x & x >> 7
		    : i % 4 == 1 ? x | x >> 9
		    : i % 4 == 2 ? x
				 : ~0u << x % 32;
		if (i % 8 == 7)
			x = ~x;
		ck_assert_uint_eq(mam_rwmalloc_fit(x, ahead, n), fit_by_hand(x, ahead, n));
		ck_assert_uint_eq(mam_rwmalloc_head(x), fit_by_hand(~x, 0, 1));
	}
	ck_assert_uint_eq(mam_rwmalloc_fit(~0u, 0, 32), 0);
	ck_assert_uint_eq(mam_rwmalloc_fit(~0u, 0, 33), 32);
	ck_assert_uint_eq(mam_rwmalloc_fit(0, 100, 1), 32);
	ck_assert_uint_eq(mam_rwmalloc_tail(0), 0);
	ck_assert_uint_eq(mam_rwmalloc_tail(~0u), 32);
	ck_assert_uint_eq(mam_rwmalloc_tail(0xc0000001), 2);
	ck_assert_uint_eq(mam_rwmalloc_part(40, 1, 32), 1u << 8);
	ck_assert_uint_eq(mam_rwmalloc_part(40, 24, 32), 0xffffff00);
	ck_assert_uint_eq(mam_rwmalloc_part(40, 100, 32), 0xffffff00);
	ck_assert_uint_eq(mam_rwmalloc_part(40, 100, 64), ~0u);
	ck_assert_uint_eq(mam_rwmalloc_part(40, 100, 128), 0xfff);
	ck_assert_uint_eq(mam_rwmalloc_part(40, 24, 64), 0);
	ck_assert_uint_eq(mam_rwmalloc_part(40, 24, 0), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("heap/published_runs");
	TCase *all = tcase_create("rwmalloc");
	SRunner *runner;
	int failed;

	tcase_set_timeout(all, 300);
	tcase_add_test(all, parts_match_their_definitions);
	tcase_add_test(all, no_request_fails_with_room_for_all);
	tcase_add_test(all, runs_collide);
	tcase_add_test(all, few_lanes);
	tcase_add_test(all, every_length_is_served);
	tcase_add_test(all, segments_are_joined);
	tcase_add_test(all, run_across_words_is_found_by_one_lane);
	tcase_add_test(all, fill_free_and_fill_again);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
