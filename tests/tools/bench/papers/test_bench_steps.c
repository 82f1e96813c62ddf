/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The expectations of the random-walk paper: its formulas compared with explicit sums, their
 * limits, and values computed by hand.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "bench/harness/steps.h"

#define MILLION 1000000.0
#define NEARLY(got, want, share) ck_assert_double_eq_tol((got) / (want), 1, share)

START_TEST(queue_is_linear)
{
	double sum, n;
	int k;

	ck_assert_double_eq(bench_steps_queue_tas(1), 1);
	ck_assert_double_eq(bench_steps_queue_tas(5000), 2500.5);
	ck_assert_double_eq_tol(bench_steps_queue_was(1), 1, 1e-15);
	ck_assert_double_eq_tol(bench_steps_queue_was(2), 2 - pow(2, -32), 1e-15);
	for (n = 999; n <= 1001; n++) { /* on both sides of the start of the closed form */
		for (sum = 0, k = 0; k < n; k++)
			sum += 1 - pow(k / n, 32);
		ck_assert_double_eq_tol(bench_steps_queue_was(n), sum, 1e-8);
	}
	NEARLY(bench_steps_queue_was(MILLION), MILLION * 32 / 33, 1e-6);
}
END_TEST

START_TEST(search_gets_longer_as_pages_are_allocated)
{
	ck_assert_double_eq(bench_steps_walk_tas(MILLION, MILLION / 2, 1, 1), 2);
	/* Four threads, four pages: 4/4 + 4/3 + 4/2 + 4/1. */
	ck_assert_double_eq_tol(bench_steps_walk_tas(4, 4, 4, 1), 25.0 / 12, 1e-14);
	ck_assert_double_eq_tol(bench_steps_walk_tas(64, 64, 1, 32), 1, 1e-14);
	/* Two threads, two of four pages, two per read: 1/(1 - 1/4) and 1/(1 - 9/16). */
	ck_assert_double_eq_tol(bench_steps_walk_tas(4, 2, 2, 2), (4 / 3.0 + 16 / 7.0) / 2, 1e-14);
	NEARLY(bench_steps_walk_tas(MILLION, MILLION / 2, 100000, 1), 10 * log(1.25), 1e-5);
	NEARLY(bench_steps_walk_tas_log(MILLION, MILLION / 2, 100000), 10 * log(1.25), 1e-14);
	/* All of a million: the harmonic number, ln + Euler's constant. */
	NEARLY(bench_steps_walk_tas(MILLION, MILLION, MILLION, 1), 14.392726722864989, 1e-13);
	ck_assert(isinf(bench_steps_walk_tas(MILLION, 10, 13, 1)));
	ck_assert(isinf(bench_steps_walk_tas_log(MILLION, 10, 10)));
}
END_TEST

START_TEST(bitmap_is_faster_by_its_width_when_little_is_free)
{
	double narrow = bench_steps_walk_tas(MILLION, 10, 10, 1);

	NEARLY(bench_steps_walk_tas(MILLION, 10, 10, 32) * 32, narrow, 0.001);
	NEARLY(bench_steps_walk_tas(MILLION, 10, 10, 64) * 64, narrow, 0.001);
	/* And by nothing if all is free: a step is a step. */
	ck_assert_double_ge(bench_steps_walk_tas(MILLION, MILLION, 1, 64), 1);
	narrow = bench_steps_walk_was(MILLION, 11, 10, 1, 32);
	NEARLY(bench_steps_walk_was(MILLION, 11, 10, 32, 32), narrow / 32 + 31.0 / 64, 1e-4);
	NEARLY(bench_steps_walk_was(MILLION, 11, 10, 64, 32), narrow / 64 + 63.0 / 128, 1e-4);
}
END_TEST

/* By the definition, as far as it goes. */
static double was_by_hand(double t, double a, double n, double w, double lanes)
{
	double sum = 0, q = (t - a + n) / t;
	int k;

	for (k = 0; k < 200000; k++)
		sum += 1 - pow(1 - pow(q, w * k), lanes);
	return sum;
}

START_TEST(warp_waits_for_its_last_lane)
{
	double share;

	/* One lane: a geometric distribution. */
	NEARLY(bench_steps_walk_was(MILLION, 500, 400, 1, 1), 10000, 1e-9);
	NEARLY(bench_steps_walk_was(MILLION, MILLION / 2, MILLION / 4, 1, 1), 4, 1e-12);
	/* Every share, on both sides of the start of the integral. */
	for (share = 0.0011; share < 0.9; share *= 1.3) {
		NEARLY(bench_steps_walk_was(MILLION, share * MILLION + 100, 100, 1, 32),
		       was_by_hand(MILLION, share * MILLION + 100, 100, 1, 32), 1e-8);
		NEARLY(bench_steps_walk_was(MILLION, share * MILLION + 100, 100, 32, 32),
		       was_by_hand(MILLION, share * MILLION + 100, 100, 32, 32), 1e-8);
		NEARLY(bench_steps_walk_was(MILLION, share * MILLION + 100, 100, 1, 5),
		       was_by_hand(MILLION, share * MILLION + 100, 100, 1, 5), 1e-8);
	}
	ck_assert_double_eq_tol(bench_steps_walk_was(MILLION, MILLION + 1, 1, 1, 32), 1, 1e-15);
	ck_assert(isinf(bench_steps_walk_was(MILLION, 400, 400, 32, 32)));
}
END_TEST

START_TEST(warp_that_shares_takes_the_mean)
{
	double mean, deviation, sum = 0, all = 0, step;

	bench_steps_found(MILLION, 6000, 1000, 32, 32, &mean, &deviation);
	ck_assert_double_eq_tol(mean, 1024 * 0.005, 1e-12);
	ck_assert_double_eq_tol(deviation, sqrt(1024 * 0.005 * 0.995), 1e-12);
	/* (11) as an integral, compared with its closed form. */
	for (step = 0.0005; step < 200; step += 0.001) {
		double density = bench_steps_density(32, mean, deviation, step);

		all += density * 0.001;
		sum += step * density * 0.001;
	}
	ck_assert_double_eq_tol(all, 1, 1e-6);
	NEARLY(sum, 6.25, 1e-6);
	ck_assert_double_eq_tol(bench_steps_corw(MILLION, 6000, 1000, 32), 6.25, 1e-12);
	ck_assert(isinf(bench_steps_corw(MILLION, 1000, 1000, 32)));
	/* In whole steps: about half a step more; one step where a step finds many pages. */
	step = bench_steps_corw_whole(MILLION, 6000, 1000, 32, 32);
	ck_assert_double_gt(step, 6.25);
	ck_assert_double_lt(step, 7.25);
	ck_assert_double_eq_tol(bench_steps_corw_whole(MILLION, 500000, 1, 32, 32), 1, 1e-9);
	/* One lane that reads one page per step: the geometric distribution again. */
	NEARLY(bench_steps_corw_whole(MILLION, 5000, 4000, 1, 1), 1000, 1e-6);
	ck_assert(isinf(bench_steps_corw_whole(MILLION, 1000, 1000, 32, 32)));
}
END_TEST

START_TEST(clusters_shorten_the_search)
{
	double walk = bench_steps_walk_tas(MILLION, 5000, 4000, 1);

	ck_assert_double_eq(bench_steps_crw_tas(MILLION, 5000, 4000, 1, 1), 1);
	NEARLY(bench_steps_crw_tas(MILLION, 5000, 4000, 1, 5000), 1 + 4999.0 / 9999 * walk, 1e-14);
	ck_assert_double_lt(bench_steps_crw_tas(MILLION, 5000, 4000, 1, 50),
			    bench_steps_crw_tas(MILLION, 5000, 4000, 1, 2500));
}
END_TEST

START_TEST(share_of_half_a_percent_takes_1076_steps)
{
	ck_assert_double_eq(floor(bench_steps_bound(0.005)), 1076);
	ck_assert_double_eq_tol(bench_steps_bound(0.5), 5.411, 1e-12);
	ck_assert_double_eq(bench_steps_bound(1), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bench_steps");
	TCase *all = tcase_create("formulas");
	SRunner *runner;
	int failed;

	tcase_set_timeout(all, 60);
	tcase_add_test(all, queue_is_linear);
	tcase_add_test(all, search_gets_longer_as_pages_are_allocated);
	tcase_add_test(all, bitmap_is_faster_by_its_width_when_little_is_free);
	tcase_add_test(all, warp_waits_for_its_last_lane);
	tcase_add_test(all, warp_that_shares_takes_the_mean);
	tcase_add_test(all, clusters_shorten_the_search);
	tcase_add_test(all, share_of_half_a_percent_takes_1076_steps);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
