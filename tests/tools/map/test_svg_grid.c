/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small rectangles merged: each is seen, the heaviest wins, neighbors of a tone are one bar.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "map/svg_grid.h"

static struct svg_grid grid;

static void begin(void)
{
	ck_assert(svg_grid_init(&grid, 10, 4));
}

static void end(void)
{
	svg_grid_fini(&grid);
}

static void paint(double x0, double x1, double y0, double y1, uint64_t weight, unsigned char tone)
{
	svg_grid_paint(&grid, (struct svg_rect){ x0, x1, y0, y1 }, weight, tone);
}

static unsigned char tone_at(int x, int y)
{
	return grid.tones[y * grid.columns + x];
}

/* The path of a tone's bars, or an empty text. */
static const char *bars(unsigned char tone)
{
	static char text[400];
	struct svg_path path = { .file = fmemopen(text, sizeof(text), "w") };

	svg_grid_put(&grid, tone, &path);
	svg_path_end(&path);
	putc('\0', path.file);
	fclose(path.file);
	return text;
}

START_TEST(the_smallest_rectangle_is_seen)
{
	paint(3.2, 3.21, 1.5, 1.51, 1, 7);
	ck_assert_int_eq(tone_at(3, 1), 7);
	ck_assert_int_eq(svg_grid_bars(&grid), 1);
	ck_assert_str_eq(bars(7), "<path d=\"M30 15h10\"/>\n");
	ck_assert_str_eq(bars(6), "");
}
END_TEST

START_TEST(one_that_ends_where_a_cell_begins_is_not_in_it)
{
	paint(2, 5, 1, 3, 1, 0);
	ck_assert_int_eq(tone_at(4, 2), 0);
	ck_assert_int_eq(tone_at(5, 2), SVG_GRID_EMPTY);
	ck_assert_int_eq(tone_at(4, 3), SVG_GRID_EMPTY);
	ck_assert_int_eq(tone_at(1, 1), SVG_GRID_EMPTY);
	ck_assert_str_eq(bars(0), "<path d=\"M20 15h30M20 25h30\"/>\n");
}
END_TEST

START_TEST(the_heaviest_wins_and_of_equal_ones_the_first)
{
	paint(0, 10, 0, 1, 5, 1);
	paint(2, 4, 0, 1, 6, 2);
	paint(3, 6, 0, 1, 5, 3);
	ck_assert_str_eq(bars(1), "<path d=\"M0 5h20M40 5h60\"/>\n");
	ck_assert_str_eq(bars(2), "<path d=\"M20 5h20\"/>\n");
	ck_assert_str_eq(bars(3), "");
	ck_assert_int_eq(svg_grid_bars(&grid), 3);
}
END_TEST

START_TEST(what_lies_outside_goes_to_the_edge)
{
	paint(-5, -4, 0, 1, 1, 1);
	paint(12, 15, 9, 9, 1, 2);
	ck_assert_int_eq(tone_at(0, 0), 1);
	ck_assert_int_eq(tone_at(9, 3), 2);
}
END_TEST

START_TEST(bars_end_with_their_row_and_with_a_gap)
{
	paint(8, 10, 0, 1, 1, 1);
	paint(0, 2, 1, 2, 1, 1);
	paint(4, 5, 1, 2, 1, 1);
	ck_assert_int_eq(svg_grid_bars(&grid), 3);
	ck_assert_str_eq(bars(1), "<path d=\"M80 5h20M0 15h20M40 15h10\"/>\n");
}
END_TEST

START_TEST(larger_cells_are_fewer_and_empty_at_first)
{
	paint(0, 10, 0, 4, 9, 1);
	svg_grid_clear(&grid, 2.5);
	ck_assert_int_eq(grid.columns, 4);
	ck_assert_int_eq(grid.rows, 2);
	ck_assert_int_eq(svg_grid_bars(&grid), 0);
	paint(5.5, 6, 3, 4, 1, 3);
	ck_assert_str_eq(bars(3), "<path d=\"M50 38h25\"/>\n");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("svg_grid");
	TCase *tests = tcase_create("svg_grid");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, the_smallest_rectangle_is_seen);
	tcase_add_test(tests, one_that_ends_where_a_cell_begins_is_not_in_it);
	tcase_add_test(tests, the_heaviest_wins_and_of_equal_ones_the_first);
	tcase_add_test(tests, what_lies_outside_goes_to_the_edge);
	tcase_add_test(tests, bars_end_with_their_row_and_with_a_gap);
	tcase_add_test(tests, larger_cells_are_fewer_and_empty_at_first);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
