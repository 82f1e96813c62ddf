/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sample.c - samples of allocations estimate their bytes without bias.
 *
 * The linker replaces clock_gettime() and syscall() of the code under test, so that the random
 * numbers are the same in each run.
 */
#include "interpose/profile/sample.h"

#include <check.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#define RATE ((uint64_t)64 << 10)
#define SIZES 6
#define BLOCKS 200000 /* of each size */

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
long __wrap_syscall(long number, ...);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	(void)clock;
	time->tv_sec = 1234;
	time->tv_nsec = 5678;
	return 0;
}

long __wrap_syscall(long number, ...)
{
	(void)number;
	return 99;
}

START_TEST(without_a_rate_every_allocation_is_chosen)
{
	for (uint64_t i = 0; i < 1000; i++)
		ck_assert(mam_sample_takes(i, 0));
}
END_TEST

/* The number of chosen blocks of each size is binomial, whatever sizes are between them. */
START_TEST(estimates_are_unbiased)
{
	static const uint64_t sizes[SIZES] = { 16, 512, 10000, RATE, 150000, 10 * RATE };
	unsigned int chosen[SIZES] = { 0 };

	for (int i = 0; i < BLOCKS; i++)
		for (int j = 0; j < SIZES; j++)
			chosen[j] += mam_sample_takes(sizes[j], RATE);
	for (int j = 0; j < SIZES; j++) {
		double share = -expm1(-(double)sizes[j] / (double)RATE);
		double error = sqrt(BLOCKS * share * (1 - share)); /* of the number */

		ck_assert_msg(fabs(chosen[j] - BLOCKS * share) <= 3 * error,
			      "size %llu: %u chosen, expected %.1f, standard error %.1f",
			      (unsigned long long)sizes[j], chosen[j], BLOCKS * share, error);
	}
}
END_TEST

/* Neighbors are independent: of two large blocks in a row, both are chosen as often as they should. */
START_TEST(choices_are_independent)
{
	double share = -expm1(-1.0), both = share * share;
	double error = sqrt(BLOCKS * both * (1 - both));
	unsigned int pairs = 0;

	for (int i = 0; i < BLOCKS; i++) {
		bool one = mam_sample_takes(RATE, RATE), other = mam_sample_takes(RATE, RATE);

		pairs += one && other;
	}
	ck_assert_msg(fabs(pairs - BLOCKS * both) <= 3 * error,
		      "%u pairs, expected %.1f, error %.1f", pairs, BLOCKS * both, error);
}
END_TEST

START_TEST(blocks_without_bytes_are_never_chosen)
{
	for (int i = 0; i < 100000; i++)
		ck_assert(!mam_sample_takes(0, RATE));
}
END_TEST

/* A later profile of the thread does not wait for the end of a distance that an earlier one began. */
START_TEST(each_rate_has_its_own_distances)
{
	unsigned int chosen = 0;

	for (int i = 0; i < BLOCKS; i++) {
		(void)mam_sample_takes(RATE, RATE << 20);
		chosen += mam_sample_takes(20 * RATE, RATE);
	}
	ck_assert_uint_ge(chosen, BLOCKS - 1); /* all but one of 500,000,000 */
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("sample");
	Suite *suite = suite_create("sample");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, without_a_rate_every_allocation_is_chosen);
	tcase_add_test(cases, estimates_are_unbiased);
	tcase_add_test(cases, choices_are_independent);
	tcase_add_test(cases, blocks_without_bytes_are_never_chosen);
	tcase_add_test(cases, each_rate_has_its_own_distances);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
