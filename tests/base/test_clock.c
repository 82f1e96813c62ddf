/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock never runs backwards and counts nanoseconds.
 */
#include <check.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

START_TEST(it_never_runs_backwards)
{
	uint64_t before = mam_clock_ns();

	for (int i = 0; i < 10000; i++) {
		const uint64_t now = mam_clock_ns();

		ck_assert_uint_ge(now, before);
		before = now;
	}
}
END_TEST

START_TEST(it_counts_nanoseconds)
{
	const struct timespec nap = { .tv_sec = 0, .tv_nsec = 20000000 };
	const uint64_t before = mam_clock_ns();
	uint64_t slept;

	nanosleep(&nap, NULL);
	slept = mam_clock_ns() - before;
	ck_assert_uint_ge(slept, 20000000);
	/* A busy machine may wake us late, but not by the factor of another unit. */
	ck_assert_uint_lt(slept, UINT64_C(20000000) * 1000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("base/clock");
	TCase *time_passes = tcase_create("time passes");
	SRunner *runner;
	int failed;

	tcase_set_timeout(time_passes, 60);
	tcase_add_test(time_passes, it_never_runs_backwards);
	tcase_add_test(time_passes, it_counts_nanoseconds);
	suite_add_tcase(suite, time_passes);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
