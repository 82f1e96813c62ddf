/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Colours of sizes: they rise, and stand out from the page.
 */
#include <check.h>
#include <stdlib.h>

#include "../tools/map_color.h"

START_TEST(colours_rise_with_the_size)
{
	unsigned int last = 0;

	ck_assert_uint_eq(map_color_of(0), 0);
	ck_assert_uint_eq(map_color_of(512), 0);
	for (uint64_t bytes = 512; bytes < UINT64_C(1) << 62; bytes += bytes / 8) {
		unsigned int now = map_color_of(bytes);

		ck_assert_uint_ge(now, last);
		ck_assert_uint_le(now, last + 1);
		ck_assert_uint_lt(now, MAP_COLORS);
		last = now;
	}
	ck_assert_uint_eq(map_color_of(UINT64_C(1) << 33), MAP_COLORS - 1);
	ck_assert_uint_eq(map_color_of(UINT64_MAX), MAP_COLORS - 1);
}
END_TEST

START_TEST(powers_of_two_are_two_colours_apart)
{
	for (int power = MAP_COLOR_FIRST; power < 33; power++)
		ck_assert_uint_eq(map_color_of(UINT64_C(1) << power),
				  (unsigned int)(power - MAP_COLOR_FIRST) * MAP_COLOR_PER_POWER);
}
END_TEST

START_TEST(colours_stand_out_from_white_and_from_black)
{
	for (unsigned int i = 0; i < MAP_COLORS; i++) {
		struct map_rgb rgb = map_color_rgb(i);
		double light = 0.2126 * rgb.red + 0.7152 * rgb.green + 0.0722 * rgb.blue;

		ck_assert_double_gt(light, 60);
		ck_assert_double_lt(light, 200);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("map_color");
	TCase *tests = tcase_create("map_color");
	SRunner *runner;
	int failed;

	tcase_add_test(tests, colours_rise_with_the_size);
	tcase_add_test(tests, powers_of_two_are_two_colours_apart);
	tcase_add_test(tests, colours_stand_out_from_white_and_from_black);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
