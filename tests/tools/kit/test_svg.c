/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SVG writer: untrusted texts are escaped, numbers are always valid, a path without contents is
 * not written, and a full disk is reported.
 */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../tools/kit/page.h"
#include "../tools/kit/svg.h"

static char text[8000];
static FILE *file;

static void begin(void)
{
	memset(text, 0, sizeof(text));
	file = fmemopen(text, sizeof(text), "w");
	ck_assert_ptr_nonnull(file);
}

static void end(void)
{
	fclose(file);
}

/* Everything written since the last call. */
static const char *written(void)
{
	static char copy[sizeof(text)];

	fflush(file);
	memcpy(copy, text, sizeof(text));
	rewind(file);
	memset(text, 0, sizeof(text));
	return copy;
}

START_TEST(markup_in_texts_and_attributes_is_escaped)
{
	svg_text(file, 1, 2, "ink", "<b>&\"c'");
	ck_assert_str_eq(written(), "<text class=\"ink\" x=\"1\" y=\"2\">"
				    "&#60;b&#62;&#38;&#34;c&#39;</text>\n");
	svg_open(file, "g", NULL, "", 0);
	svg_attribute(file, "id", "\"><script>");
	svg_close(file, NULL);
	ck_assert_str_eq(written(), "<g id=\"&#34;&#62;&#60;script&#62;\"/>\n");
}
END_TEST

START_TEST(invalid_and_invisible_characters_are_replaced)
{
	/* A control, DEL, a lone byte, a truncated character, U+0085, U+202E, U+FEFF, U+FFFE. */
	page_markup(file, "a\001\177\377\303b\302\205\342\200\256\357\273\277\357\277\276z");
	ck_assert_str_eq(written(), "a????b????z");
	page_markup(file, "\303\251 \342\202\254 \360\237\230\200");
	ck_assert_str_eq(written(), "\303\251 \342\202\254 \360\237\230\200");
	page_markup(file, "\303");
	ck_assert_str_eq(written(), "?");
}
END_TEST

START_TEST(numbers_have_one_decimal_place_at_most)
{
	svg_open(file, "rect", NULL, "x y width height", 1, -2.25, 0.96, -0.04);
	svg_close(file, NULL);
	ck_assert_str_eq(written(), "<rect x=\"1\" y=\"-2.2\" width=\"1\" height=\"0\"/>\n");
}
END_TEST

START_TEST(numbers_that_are_no_coordinates_are_0)
{
	struct svg_path path = { .file = file };

	svg_open(file, "circle", NULL, "cx cy r", NAN, INFINITY, -INFINITY);
	svg_close(file, NULL);
	ck_assert_str_eq(written(), "<circle cx=\"0\" cy=\"0\" r=\"0\"/>\n");
	svg_draw(&path, "MLH", 1e300, -1e9, NAN, 999999999.0, INFINITY);
	svg_path_end(&path);
	ck_assert_str_eq(written(), "<path d=\"M0 0L0 999999999H0\"/>\n");
}
END_TEST

START_TEST(a_path_without_contents_is_not_written)
{
	struct svg_path path = { .file = file, .look = "bad" };

	svg_path_end(&path);
	ck_assert_str_eq(written(), "");
}
END_TEST

START_TEST(a_path_has_its_colors_and_is_written_once)
{
	struct svg_path filled = { .file = file, .look = "edge", .fill = "#123456" };
	struct svg_path stroked = { .file = file, .stroke = "#123456", .width = 1.5 };

	svg_box(&filled, 1, 2, 3, 4);
	svg_box(&filled, 5, 6, 7, 8.5);
	svg_path_end(&filled);
	ck_assert_str_eq(written(), "<path class=\"edge\" fill=\"#123456\" "
				    "d=\"M1 2h3v4h-3zM5 6h7v8.5h-7z\"/>\n");
	svg_draw(&stroked, "Mh", 1, 2, 3);
	svg_path_end(&stroked);
	ck_assert_str_eq(written(), "<path stroke-width=\"1.5\" fill=\"none\" stroke=\"#123456\" "
				    "d=\"M1 2h3\"/>\n");
	svg_line(file, "tick", 1, 2, -5, 0);
	svg_line(file, "tick", 1, 2, 0, 5);
	ck_assert_str_eq(written(), "<path class=\"tick\" d=\"M1 2h-5\"/>\n"
				    "<path class=\"tick\" d=\"M1 2v5\"/>\n");
}
END_TEST

START_TEST(a_pixel_has_the_maximum_of_its_steps)
{
	struct svg_path path = { .file = file };

	svg_draw(&path, "M", 10, 100);
	svg_step(&path, 10.2, 50);  /* higher */
	svg_step(&path, 10.4, 80);  /* lower, in the same pixel */
	svg_step(&path, 10.6, 40);  /* higher */
	svg_step(&path, 12, 40.04); /* not visible */
	svg_step(&path, 13, 90);    /* lower, in another pixel */
	svg_path_end(&path);
	ck_assert_str_eq(written(), "<path d=\"M10 100H10.2V50H10.6V40H13V90\"/>\n");
}
END_TEST

START_TEST(ticks_are_round_numbers)
{
	ck_assert_double_eq(svg_tick_step(100, 10, false), 10);
	ck_assert_double_eq(svg_tick_step(101, 10, false), 20);
	ck_assert_double_eq(svg_tick_step(201, 10, false), 50);
	ck_assert_double_eq(svg_tick_step(501, 10, false), 100);
	ck_assert_double_eq(svg_tick_step(1, 10, false), 1);
	ck_assert_double_eq(svg_tick_step(1000, 10, true), 128);
	svg_count_axis(file, 0, 2, "events");
	ck_assert_ptr_nonnull(strstr(written(), ">2</text>"));
	svg_byte_axis(file, 0, 100, 3 << 20, 3, "bytes", true);
	ck_assert_ptr_nonnull(strstr(written(), ">bytes (MiB)</text>"));
}
END_TEST

START_TEST(a_file_is_complete_and_its_title_is_text)
{
	const char *all;

	svg_begin(file, 50, "<a>", "kind");
	ck_assert(svg_end(file));
	all = written();
	ck_assert_ptr_nonnull(strstr(all, "<title>&#60;a&#62; - kind</title>"));
	ck_assert_ptr_nonnull(strstr(all, "width=\"1200\" height=\"50\""));
	ck_assert_str_eq(all + strlen(all) - 7, "</svg>\n");
}
END_TEST

START_TEST(a_full_disk_is_reported)
{
	FILE *full = fopen("/dev/full", "w");

	if (!full)
		return; /* not Linux */
	svg_begin(full, 50, "", "");
	errno = 0;
	ck_assert(!svg_end(full));
	ck_assert_int_eq(errno, ENOSPC);
	fclose(full);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("svg");
	TCase *tests = tcase_create("svg");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, markup_in_texts_and_attributes_is_escaped);
	tcase_add_test(tests, invalid_and_invisible_characters_are_replaced);
	tcase_add_test(tests, numbers_have_one_decimal_place_at_most);
	tcase_add_test(tests, numbers_that_are_no_coordinates_are_0);
	tcase_add_test(tests, a_path_without_contents_is_not_written);
	tcase_add_test(tests, a_path_has_its_colors_and_is_written_once);
	tcase_add_test(tests, a_pixel_has_the_maximum_of_its_steps);
	tcase_add_test(tests, ticks_are_round_numbers);
	tcase_add_test(tests, a_file_is_complete_and_its_title_is_text);
	tcase_add_test(tests, a_full_disk_is_reported);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
