/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of single operations: quantiles, mean, times beyond the stored maximum, times shorter than
 * reading the clock.
 */
#include <check.h>
#include <stdlib.h>

#include "bench/bench.h"

/*
 * Reading the clock takes time itself: times are given as two readings that are this much further
 * apart.
 */
static void add(struct bench_times *times, double ns)
{
	bench_times_add(times, 0, (uint64_t)(ns + bench_measure_clock_cost()));
}

START_TEST(quantiles_are_recorded_times)
{
	struct bench_times times;
	int i;

	ck_assert(bench_times_init(&times, 1000));
	for (i = 1000; i > 0; i--) /* 1 to 1000, downwards */
		add(&times, i);
	ck_assert_double_eq_tol(bench_times_quantile(&times, 0.5), 500, 1);
	ck_assert_double_eq_tol(bench_times_quantile(&times, 0.9), 900, 1);
	ck_assert_double_eq_tol(bench_times_quantile(&times, 0.99), 990, 1);
	ck_assert_double_eq_tol(bench_times_quantile(&times, 0.999), 999, 1);
	ck_assert_double_eq_tol(bench_times_quantile(&times, 1), 1000, 1);
	ck_assert_double_eq_tol(bench_times_quantile(&times, 0), 1, 1);
	ck_assert_double_eq_tol(bench_times_mean(&times), 500.5, 1);
	bench_times_fini(&times);
}
END_TEST

START_TEST(more_times_may_follow_a_quantile)
{
	struct bench_times times;

	ck_assert(bench_times_init(&times, 10));
	add(&times, 100);
	ck_assert_double_eq_tol(bench_times_quantile(&times, 0.5), 100, 1);
	add(&times, 10);
	add(&times, 20);
	ck_assert_double_eq_tol(bench_times_quantile(&times, 0.5), 20, 1);
	ck_assert_double_eq_tol(bench_times_quantile(&times, 0.01), 10, 1);
	bench_times_fini(&times);
}
END_TEST

START_TEST(times_that_do_not_fit_count_in_mean_and_maximum)
{
	struct bench_times times;

	ck_assert(bench_times_init(&times, 2));
	add(&times, 10);
	add(&times, 20);
	add(&times, 90);
	ck_assert_uint_eq(times.kept, 2);
	ck_assert_uint_eq(times.count, 3);
	ck_assert_double_eq_tol(times.max, 90, 1);
	ck_assert_double_eq_tol(bench_times_mean(&times), 40, 1);
	ck_assert_double_eq_tol(bench_times_quantile(&times, 1), 20, 1);
	bench_times_fini(&times);
}
END_TEST

START_TEST(no_time_is_negative)
{
	struct bench_times times;

	ck_assert(bench_times_init(&times, 2));
	ck_assert_double_eq(bench_times_quantile(&times, 0.5), 0);
	ck_assert_double_eq(bench_times_mean(&times), 0);
	ck_assert_double_gt(bench_measure_clock_cost(), 0);
	bench_times_add(&times, 1000, 1000); /* the clock has not advanced */
	ck_assert_double_eq(bench_times_quantile(&times, 0.5), 0);
	ck_assert_double_eq(times.sum, 0);
	bench_times_fini(&times);
}
END_TEST

START_TEST(no_quantile_exceeds_the_maximum)
{
	struct bench_times times;

	ck_assert(bench_times_init(&times, 1));
	bench_times_add(&times, 0, 33554435); /* not representable as float */
	ck_assert_double_le(bench_times_quantile(&times, 0.5), times.max);
	ck_assert_double_ge(bench_times_quantile(&times, 1), times.max);
	bench_times_fini(&times);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bench times");
	TCase *tests = tcase_create("times");
	SRunner *runner;
	int failed;

	bench_measure_init();
	tcase_add_test(tests, quantiles_are_recorded_times);
	tcase_add_test(tests, more_times_may_follow_a_quantile);
	tcase_add_test(tests, times_that_do_not_fit_count_in_mean_and_maximum);
	tcase_add_test(tests, no_time_is_negative);
	tcase_add_test(tests, no_quantile_exceeds_the_maximum);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
