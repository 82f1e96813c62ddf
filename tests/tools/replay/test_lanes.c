/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes: the lowest free one is used, no lane is used twice, and there are no more lanes than users
 * at once.
 */
#include <check.h>
#include <stdlib.h>

#include "write/lanes.h"

START_TEST(lowest_free_lane_is_used)
{
	static const uint32_t given[] = { 3, 0, 4, 1 }, wanted[] = { 0, 1, 3, 4, 5 };
	struct lanes lanes = { 0 };
	uint32_t lane;

	for (uint32_t i = 0; i < 5; i++) {
		ck_assert(lanes_take(&lanes, &lane));
		ck_assert_uint_eq(lane, i);
	}
	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		lanes_give(&lanes, given[i]);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		ck_assert(lanes_take(&lanes, &lane));
		ck_assert_uint_eq(lane, wanted[i]);
	}
	lanes_fini(&lanes);
}
END_TEST

/* Many allocated and freed, compared with an array of free lanes. */
START_TEST(long_use_keeps_to_the_lowest_lanes)
{
	static bool taken[400];
	struct lanes lanes = { 0 };
	uint32_t held = 0, max = 0, wrong = 0, seed = 7;

	for (int i = 0; i < 20000; i++) {
		uint32_t lane, lowest = 0, any;

		seed = seed * 1664525 + 1013904223;
		any = seed >> 16;
		if (held < 300 && (held == 0 || any % 2)) {
			while (taken[lowest])
				lowest++;
			ck_assert(lanes_take(&lanes, &lane));
			wrong += lane != lowest;
			taken[lane] = true;
			max = ++held > max ? held : max;
		} else {
			lane = any % lanes.count;
			if (!taken[lane])
				continue;
			taken[lane] = false;
			lanes_give(&lanes, lane);
			held--;
		}
	}
	ck_assert_uint_eq(wrong, 0);
	ck_assert_uint_eq(lanes.count, max);
	ck_assert_uint_gt(max, 50);
	lanes_fini(&lanes);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lanes");
	TCase *tests = tcase_create("lanes");
	SRunner *runner;
	int failed;

	tcase_add_test(tests, lowest_free_lane_is_used);
	tcase_add_test(tests, long_use_keeps_to_the_lowest_lanes);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
