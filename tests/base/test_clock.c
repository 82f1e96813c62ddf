/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock never runs backwards and counts nanoseconds.
 */
#include <check.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

START_TEST(clock_never_runs_backwards)
{
	uint64_t before = mam_clock_ns();

	for (int i = 0; i < 10000; i++) {
		const uint64_t now = mam_clock_ns();

		ck_assert_uint_ge(now, before);
		before = now;
	}
}
END_TEST

START_TEST(clock_counts_nanoseconds)
{
	struct timespec before, after;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &before);
	now = mam_clock_ns();
	clock_gettime(CLOCK_MONOTONIC, &after);
	ck_assert_uint_ge(now / 1000000000, (uint64_t)before.tv_sec);
	ck_assert_uint_le(now / 1000000000, (uint64_t)after.tv_sec);
	if (before.tv_sec == after.tv_sec) {
		ck_assert_uint_ge(now % 1000000000, (uint64_t)before.tv_nsec);
		ck_assert_uint_le(now % 1000000000, (uint64_t)after.tv_nsec);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("base/clock");
	TCase *time_passes = tcase_create("time passes");
	SRunner *runner;
	int failed;

	tcase_set_timeout(time_passes, 60);
	tcase_add_test(time_passes, clock_never_runs_backwards);
	tcase_add_test(time_passes, clock_counts_nanoseconds);
	suite_add_tcase(suite, time_passes);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
