/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Colours of sizes, ages and kinds: scales rise, kinds differ, and all stand out from the page.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "map/map_color.h"

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

START_TEST(colours_of_ages_rise_and_what_never_dies_has_none_of_them)
{
	unsigned int last = 0;

	ck_assert_uint_eq(map_color_of_age(0), 0);
	for (int power = 0; power < 18; power++)
		ck_assert_uint_eq(map_color_of_age(UINT64_C(1) << power),
				  (unsigned int)power * MAP_AGE_PER_POWER);
	for (uint64_t events = 1; events < UINT64_C(1) << 40; events += events / 4 + 1) {
		unsigned int now = map_color_of_age(events);

		ck_assert_uint_ge(now, last);
		ck_assert_uint_lt(now, MAP_AGES);
		last = now;
	}
	ck_assert_uint_eq(last, MAP_AGES - 1);
	for (unsigned int i = 0; i < MAP_AGES; i++) {
		struct map_rgb age = map_color_age_rgb(i), never = map_color_age_rgb(MAP_AGES);

		ck_assert(memcmp(&age, &never, sizeof(age)) != 0);
	}
}
END_TEST

START_TEST(kinds_differ_and_there_is_one_more_for_the_rest)
{
	struct map_rgb rest = map_color_kind_rgb(MAP_KINDS), beyond = map_color_kind_rgb(1000);

	ck_assert_mem_eq(&rest, &beyond, sizeof(rest));
	for (unsigned int i = 0; i <= MAP_KINDS; i++)
		for (unsigned int k = 0; k < i; k++) {
			struct map_rgb a = map_color_kind_rgb(i), b = map_color_kind_rgb(k);

			ck_assert_int_gt(abs(a.red - b.red) + abs(a.green - b.green) +
						 abs(a.blue - b.blue),
					 60);
		}
}
END_TEST

static void stands_out(struct map_rgb rgb)
{
	double light = 0.2126 * rgb.red + 0.7152 * rgb.green + 0.0722 * rgb.blue;

	ck_assert_double_gt(light, 60);
	ck_assert_double_lt(light, 210);
}

START_TEST(colours_stand_out_from_white_and_from_black)
{
	for (unsigned int i = 0; i < MAP_COLORS; i++)
		stands_out(map_color_rgb(i));
	for (unsigned int i = 0; i <= MAP_AGES; i++)
		stands_out(map_color_age_rgb(i));
	for (unsigned int i = 0; i <= MAP_KINDS; i++)
		stands_out(map_color_kind_rgb(i));
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
	tcase_add_test(tests, colours_of_ages_rise_and_what_never_dies_has_none_of_them);
	tcase_add_test(tests, kinds_differ_and_there_is_one_more_for_the_rest);
	tcase_add_test(tests, colours_stand_out_from_white_and_from_black);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
