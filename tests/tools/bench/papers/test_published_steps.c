/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_published_steps.c - counted steps compared with the paper's formulas: lanes one after the
 * other, as in its derivation, on heaps with a share of free pages at random positions.
 */
#include <math.h>

#include "bench/harness/steps.h"
#include "tools/bench/papers/published.h"

#define TIMES 60 /* heaps */

PUBLISHED_CALLS(rw)
PUBLISHED_CALLS(rwbm)
PUBLISHED_CALLS(crw)
PUBLISHED_CALLS(corw)
PUBLISHED_CALLS(queue)

enum { RW, RWBM, CRW, CORW, QUEUE };

static const struct published variants[] = {
	{ "rw", mam_rw_bytes, format_rw, take_rw, give_rw, published_flag, NULL },
	{ "rwbm", mam_rwbm_bytes, format_rwbm, take_rwbm, give_rwbm, published_bit,
	  published_locked },
	{ "crw", mam_crw_bytes, format_crw, take_crw, give_crw, published_bit, published_locked },
	{ "corw", mam_corw_bytes, format_corw, take_corw, give_corw, published_bit,
	  published_locked },
	{ "queue", mam_queue_bytes, format_queue, take_queue, give_queue, published_queued, NULL },
};

/* Steps of the threads of a run, which run one after the other. */
struct line {
	struct published_job *job;
	uint32_t threads;
	uint32_t lanes;  /* per warp, for the maximum of its steps */
	double sum, max; /* over all threads, over all warps */
};

/* Marks all except `free` pages, at random positions, as allocated. */
static void leave_free(struct published_job *job, uint32_t free, uint32_t *seed)
{
	uint32_t *flags = (uint32_t *)((struct mam_rw *)job->s + 1), left = free, page;

	for (page = 0; page < job->count; page++) {
		*seed = mam_published_mix(*seed + page);
		if ((uint64_t)*seed * (job->count - page) >> 32 < left)
			left--;
		else if (job->of == &variants[RW])
			flags[page] = 1;
		else
			*mam_bitlock_word(job->s, page / 32) |= 1u << page % 32;
	}
	ck_assert_uint_eq(left, 0);
}

MAM_KERNEL(one_after_another)
{
	struct line *line = argument;
	struct mam_published_walk walk;
	uint32_t i, max = 0;

	for (i = 0; i < line->threads; i++) {
		mam_published_start(&walk, (uint32_t)simt_random());
		MAM_KASSERT(line->job->of->take(line->job->s, &walk, 1) != MAM_NO_PAGE);
		line->sum += walk.steps;
		max = walk.steps > max ? walk.steps : max;
		if (i % line->lanes == line->lanes - 1) {
			line->max += max;
			max = 0;
		}
	}
}

/* The means over TIMES heaps of `count` pages, `free` of them free. */
static void measure(int which, uint32_t count, uint32_t free, uint32_t threads, double *tas,
		    double *was)
{
	struct published_job *job = published_job(&variants[which], count, 1, 1);
	struct line line = { job, threads, 32, 0, 0 };
	struct simt_config config = { 0 };
	struct simt_result result;
	uint32_t time, seed = 4711;

	for (time = 0; time < TIMES; time++) {
		published_begin(job);
		if (which != QUEUE)
			leave_free(job, free, &seed);
		config.seed = time;
		simt_set_shape(&config, time);
		simt_launch(&config, one_after_another, 1, 1, &line, &result);
		ck_assert_msg(result.verdict == SIMT_FINE, "%s", result.text);
	}
	*tas = line.sum / TIMES / threads;
	*was = line.max / TIMES / (threads / 32);
	published_end(job);
}

#define NEARLY(got, want, share) \
	ck_assert_msg(fabs((got) / (want)-1) < (share), "%g where %g was expected", got, want)

START_TEST(search_of_flags)
{
	double tas, was;

	measure(RW, 4096, 410, 192, &tas, &was);
	NEARLY(tas, bench_steps_walk_tas(4096, 410, 192, 1), 0.05);
	ck_assert_double_lt(was, bench_steps_walk_was(4096, 410, 192, 1, 32));
	ck_assert_double_gt(was, bench_steps_walk_was(4096, 410, 0, 1, 32));
	measure(RW, 4096, 2048, 192, &tas, &was);
	NEARLY(tas, bench_steps_walk_tas(4096, 2048, 192, 1), 0.05);
}
END_TEST

/* Few pages are allocated, so that the free ones stay spread at random, as (5) assumes. */
START_TEST(search_of_a_bitmap)
{
	double tas, was;

	measure(RWBM, 4096, 41, 8, &tas, &was);
	NEARLY(tas, bench_steps_walk_tas(4096, 41, 8, 32), 0.1);
	measure(RWBM, 4096, 205, 32, &tas, &was);
	NEARLY(tas, bench_steps_walk_tas(4096, 205, 32, 32), 0.05);
	ck_assert_double_lt(was, bench_steps_walk_was(4096, 205, 40, 32, 32));
	ck_assert_double_gt(was, bench_steps_walk_was(4096, 205, 0, 32, 32));
	/* A lane that already had no page searches as well. */
	measure(CRW, 4096, 205, 32, &tas, &was);
	NEARLY(tas, bench_steps_walk_tas(4096, 205, 32, 32), 0.05);
}
END_TEST

START_TEST(queue_is_linear)
{
	double tas, was;

	measure(QUEUE, 4096, 4096, 320, &tas, &was);
	ck_assert_double_eq_tol(tas, bench_steps_queue_tas(320), 1e-9);
}
END_TEST

/*
 * CRW: a thread that owns a page of the cluster takes one step; one that owns another page takes a
 * search and one step.
 */
MAM_KERNEL(beside_a_cluster)
{
	struct line *line = argument;
	struct mam_published_walk walk;
	uint32_t i, page;

	for (i = 0; i < line->threads; i++) {
		mam_published_start(&walk, (uint32_t)simt_random());
		walk.last = 95 + i % 32;
		page = mam_crw_take(line->job->s, &walk);
		MAM_KASSERT(page == 96 && walk.steps == 1 && walk.last == 96);
		walk.last = 63 + i % 32;
		page = mam_crw_take(line->job->s, &walk);
		MAM_KASSERT(page == 97 && walk.last == 97);
		line->sum += walk.steps - 1;
		(void)mam_crw_give(line->job->s, 96);
		(void)mam_crw_give(line->job->s, 97);
	}
}

START_TEST(clustered_search)
{
	struct published_job *job = published_job(&variants[CRW], 4096, 1, 1);
	uint32_t i;
	struct line line = { job, 2000, 32, 0, 0 };
	struct simt_config config = { 0 };
	struct simt_result result;

	for (i = 0; i < 128; i++) /* free: pages 96 to 127 */
		*mam_bitlock_word(job->s, i) = i == 3 ? 0 : ~0u;
	config.steps_max = 10000000;
	simt_set_shape(&config, (uint64_t)_i);
	simt_launch(&config, beside_a_cluster, 1, 1, &line, &result);
	ck_assert_msg(result.verdict == SIMT_FINE, "%s", result.text);
	NEARLY(line.sum / 2000, 129.0, 0.1);
	published_end(job);
}
END_TEST

/* One warp at a time: all its lanes take the same steps, as many as its mean find needs. */
MAM_KERNEL(a_warp_together)
{
	struct line *line = argument;
	struct mam_published_walk walk;
	uint32_t steps;

	mam_published_start(&walk, (uint32_t)simt_random());
	mam_warp_sync(~0u);
	MAM_KASSERT(mam_corw_together(line->job->s, &walk, ~0u) != MAM_NO_PAGE);
	steps = mam_warp_shuffle32(~0u, walk.steps, 0);
	MAM_KASSERT(walk.steps == steps);
	if (mam_lane() == 0)
		line->sum += steps;
}

static double warps(uint32_t free, uint32_t count)
{
	struct published_job *job = published_job(&variants[CORW], 4096, 1, 1);
	struct line line = { job, 1, 32, 0, 0 };
	struct simt_config config = { 0 };
	struct simt_result result;
	uint32_t time, warp, seed = 815;

	for (time = 0; time < TIMES; time++) {
		published_begin(job);
		leave_free(job, free, &seed);
		for (warp = 0; warp < count; warp++) {
			config.seed = time * count + warp;
			simt_set_shape(&config, config.seed);
			simt_launch(&config, a_warp_together, 1, 32, &line, &result);
			ck_assert_msg(result.verdict == SIMT_FINE, "%s", result.text);
		}
	}
	published_end(job);
	return line.sum / TIMES / count;
}

START_TEST(warp_shares_finds)
{
	double steps = warps(82, 1); /* 2% */

	ck_assert_double_lt(steps, bench_steps_corw_whole(4096, 82, 32, 32, 32));
	ck_assert_double_gt(steps, bench_steps_corw_whole(4096, 82, 0, 32, 32));
	steps = warps(410, 2);
	ck_assert_double_lt(steps, bench_steps_corw_whole(4096, 410, 64, 32, 32) + 0.01);
	ck_assert_double_ge(steps, 1);
}
END_TEST

START_TEST(search_gives_up)
{
	uint32_t low, which;

	ck_assert_uint_eq(mam_published_bound(100, 5), 1076);
	ck_assert_uint_eq(mam_published_bound(100, 1000), 1);
	ck_assert_uint_eq(mam_published_bound(0, 5), 0);
	for (low = 1; low < 840; low++)
		ck_assert_uint_eq(mam_published_bound(1, low),
				  (uint32_t)floor(bench_steps_bound(low / 1000.0) + 1e-9));
	/* In a full heap a search takes this many steps and no more. */
	for (which = RW; which <= CORW; which++) {
		struct published_job *job = published_job(&variants[which], 64, 5, 1);
		struct simt_config config = { 0 };
		struct simt_result result;

		job->rounds = 1;
		leave_free(job, 0, &low);
		simt_set_shape(&config, which);
		simt_launch(&config, published_fill, 1, 1, job, &result);
		ck_assert_msg(result.verdict == SIMT_FINE, "%s", result.text);
		ck_assert_uint_eq(job->failed, 1);
		ck_assert_uint_eq(job->steps, 1076);
		published_end(job);
	}
}
END_TEST

/* Two lanes that share; a quarter of the words has one free page. */
MAM_KERNEL(two_together)
{
	struct line *line = argument;
	struct mam_published_walk walk;
	uint32_t i, page;

	mam_published_start(&walk, (uint32_t)simt_random());
	for (i = 0; i < line->threads; i++) {
		page = mam_corw_together(line->job->s, &walk, 3);
		if (page == MAM_NO_PAGE)
			line->sum++;
		else
			(void)mam_corw_give(line->job->s, page);
		mam_warp_sync(3);
	}
}

/*
 * Five steps in a row must fail, not five in total. A step of both finds nothing with probability
 * 9/16, and five do with 1/18. Where one lane found something first, which is nearly always, the
 * other has to go through that once more: 1/18 and nearly half of it again. Five in total would be
 * 0.106.
 */
START_TEST(find_restarts_the_patience)
{
	struct published_job *job = published_job(&variants[CORW], 4096, 500, 1);
	struct line line = { job, 3000, 32, 0, 0 };
	struct simt_config config = { .steps_max = 100000000 };
	struct simt_result result;
	uint32_t i;

	ck_assert_uint_eq(mam_published_bound(4096, 500), 5);
	for (i = 0; i < 128; i++)
		*mam_bitlock_word(job->s, i) = i % 4 ? ~0u : ~0u << 1;
	simt_set_shape(&config, (uint64_t)_i);
	simt_launch(&config, two_together, 1, 2, &line, &result);
	ck_assert_msg(result.verdict == SIMT_FINE, "%s", result.text);
	ck_assert_double_gt(line.sum / 6000, 0.065);
	ck_assert_double_lt(line.sum / 6000, 0.09);
	published_end(job);
}
END_TEST

START_TEST(kth_bit_is_found)
{
	uint32_t x = 7, i, k, bit, seen;

	for (i = 0; i < 3000; i++) {
		x = mam_published_mix(x + i);
		for (k = 0, seen = 0; k <= 33; k++) {
			for (bit = 0, seen = 0; bit < 32 && seen < k; bit++)
				seen += x >> bit & 1;
			ck_assert_uint_eq(mam_published_kth(x, k), seen == k && k ? bit : 0);
		}
	}
	ck_assert_uint_eq(mam_published_kth(~0u, 32), 32);
	ck_assert_uint_eq(mam_published_kth(1u << 31, 1), 32);
}
END_TEST

/* Random numbers of adjacent lanes fall evenly on places: chi-squared of 64 places. */
MAM_KERNEL(draw)
{
	uint32_t *hits = argument;
	struct mam_published_walk walk;
	uint32_t i, place;

	mam_published_start(&walk, 3);
	for (i = 0; i < 100; i++) {
		place = mam_published_below(&walk, 64);
		MAM_KASSERT(place < 64);
		mam_atomic_add32(&hits[place], 1, MAM_RELAXED, MAM_AT_DEVICE);
	}
}

START_TEST(random_places_are_uniform)
{
	uint32_t hits[64] = { 0 }, i;
	struct simt_config config = { 0 };
	struct simt_result result;
	double chi = 0;

	simt_set_shape(&config, (uint64_t)_i);
	simt_launch(&config, draw, 4, 64, hits, &result);
	ck_assert_msg(result.verdict == SIMT_FINE, "%s", result.text);
	for (i = 0; i < 64; i++)
		chi += (hits[i] - 400.0) * (hits[i] - 400.0) / 400;
	ck_assert_double_gt(chi, 30); /* 63 degrees of freedom: 99.9% lie between */
	ck_assert_double_lt(chi, 105);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("heap/published_steps");
	TCase *all = tcase_create("steps");
	SRunner *runner;
	int failed;

	tcase_set_timeout(all, 300);
	tcase_add_test(all, search_of_flags);
	tcase_add_test(all, search_of_a_bitmap);
	tcase_add_test(all, queue_is_linear);
	tcase_add_loop_test(all, clustered_search, 0, SIMT_SHAPES);
	tcase_add_test(all, warp_shares_finds);
	tcase_add_test(all, search_gives_up);
	tcase_add_loop_test(all, find_restarts_the_patience, 0, SIMT_SHAPES);
	tcase_add_test(all, kth_bit_is_found);
	tcase_add_loop_test(all, random_places_are_uniform, 0, SIMT_SHAPES);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
