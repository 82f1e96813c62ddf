/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The screen of mam top without a terminal: numbers, frames, the order of rows, keys and the mouse,
 * and that every size can be drawn.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top/columns.h"
#include "top/frame.h"
#include "top/number.h"
#include "top/view.h"

#define GIB ((uint64_t)1 << 30)

START_TEST(numbers_are_short)
{
	ck_assert_str_eq(number_bytes(0).text, "0");
	ck_assert_str_eq(number_bytes(999).text, "999");
	ck_assert_str_eq(number_bytes(1000).text, "0.98K");
	ck_assert_str_eq(number_bytes(1536).text, "1.50K");
	ck_assert_str_eq(number_bytes(10239).text, "10.0K");
	ck_assert_str_eq(number_bytes(1023 * 1024).text, "1.00M");
	ck_assert_str_eq(number_bytes(80 * GIB).text, "80.0G");
	ck_assert_str_eq(number_bytes(999 * GIB).text, "999G");
	ck_assert_str_eq(number_bytes(UINT64_MAX).text, "16.0E");
	for (int bit = 0; bit < 64; bit++)
		for (int less = -1; less < 2; less++)
			ck_assert_uint_le(
				strlen(number_bytes(((uint64_t)1 << bit) + (uint64_t)less).text),
				5);
	ck_assert_str_eq(number_rate(-1).text, "-");
	ck_assert_str_eq(number_rate(0).text, "0");
	ck_assert_str_eq(number_rate(1234).text, "1.23k");
	ck_assert_str_eq(number_rate(12.6e6).text, "12.6M");
	ck_assert_str_eq(number_time(0).text, "0");
	ck_assert_str_eq(number_time(12345).text, "12us");
	ck_assert_str_eq(number_time(1500000).text, "1.50ms");
	ck_assert_str_eq(number_time(UINT64_C(3200000000)).text, "3.20s");
	ck_assert_str_eq(number_time(UINT64_C(18000000000000)).text, "5.00h");
	ck_assert_str_eq(number_processes(1).text, "1 process");
	ck_assert_str_eq(number_processes(1200).text, "1,200 processes");
}
END_TEST

/* ---- frames ---- */

static struct frame frame;

static void check_line(int row, const char *wanted)
{
	char *line = frame_line(&frame, row);

	ck_assert_ptr_nonnull(line);
	ck_assert_str_eq(line, wanted);
	free(line);
}

START_TEST(text_is_cut_off_at_the_edge)
{
	ck_assert(frame_begin(&frame, 2, 8));
	ck_assert_int_eq(frame_put(&frame, 0, 6, 0, FRAME_NORMAL, "abcd"), 8);
	ck_assert_int_eq(frame_put(&frame, 0, 0, 3, FRAME_NORMAL, "wxyz"), 3);
	check_line(0, "wxy   ab");
	frame_put(&frame, 1, 0, 0, FRAME_NORMAL, "second row");
	check_line(1, "second r");
	frame_put(&frame, 2, 0, 0, FRAME_NORMAL, "outside");
	frame_put(&frame, -1, 0, 0, FRAME_NORMAL, "outside");
	frame_put_right(&frame, 1, 0, 8, FRAME_NORMAL, "right");
	check_line(1, "secright");
}
END_TEST

static const struct {
	const char *text, *utf8, *ascii;
} texts[] = {
	{ "a\033[2Jb", "a?[2Jb", "a?[2Jb" },
	{ "a\xff"
	  "b",
	  "a?b", "a?b" },
	{ "caf\xc3\xa9", "caf\xc3\xa9", "caf?" },
	{ "\xc2\x9b"
	  "x",
	  "?x", "?x" }, /* a control character */
	{ "\xe4\xb8\xad"
	  "x",
	  "?x", "?x" },                 /* two columns wide */
	{ "e\xcc\x81x", "e?x", "e?x" }, /* no column */
	{ "\xe2\x80\xae"
	  "x",
	  "?x", "?x" }, /* reverses what follows */
	{ "\xf0\x9f\x98\x80x", "?x", "?x" },
	{ "\xe2\x96\x81x", "\xe2\x96\x81x", "?x" },
};

START_TEST(text_of_any_bytes_has_one_column_per_character)
{
	for (int utf8 = 0; utf8 < 2; utf8++) {
		frame.is_utf8 = utf8 != 0;
		ck_assert(frame_begin(&frame, 1, 20));
		frame_put(&frame, 0, 0, 0, FRAME_NORMAL, texts[_i].text);
		check_line(0, utf8 ? texts[_i].utf8 : texts[_i].ascii);
	}
}
END_TEST

START_TEST(bar_has_the_parts)
{
	struct frame_bar bar = { 50, 20, 10, 90, 100 };

	ck_assert(frame_begin(&frame, 1, 40));
	ck_assert_int_eq(frame_put_bar(&frame, 0, 1, 12, &bar), 13);
	check_line(0, " [|||||::.- ]");
	bar = (struct frame_bar){ 1, 1, 1, 1000, 1000 };
	ck_assert(frame_begin(&frame, 1, 40));
	frame_put_bar(&frame, 0, 0, 12, &bar);
	check_line(0, "[|:.-------]");
	bar = (struct frame_bar){ UINT64_MAX, UINT64_MAX, 3, 2, 1 };
	ck_assert(frame_begin(&frame, 1, 40));
	frame_put_bar(&frame, 0, 0, 12, &bar);
	check_line(0, "[||||||||||]");
	bar = (struct frame_bar){ 0, 0, 0, 0, 0 };
	ck_assert(frame_begin(&frame, 1, 40));
	frame_put_bar(&frame, 0, 0, 12, &bar);
	check_line(0, "[          ]");
}
END_TEST

START_TEST(curve_has_the_heights)
{
	const uint64_t values[] = { 0, 1, 4, 8, 800 };

	frame.is_utf8 = false;
	ck_assert(frame_begin(&frame, 1, 10));
	frame_put_curve(&frame, 0, 0, 5, values, 8);
	check_line(0, " _~##");
	frame.is_utf8 = true;
	ck_assert(frame_begin(&frame, 1, 10));
	frame_put_curve(&frame, 0, 0, 5, values, 8);
	check_line(0, " \xe2\x96\x81\xe2\x96\x84\xe2\x96\x88\xe2\x96\x88");
}
END_TEST

/* ---- rows and keys ---- */

#define PROCESSES 5

static struct top_model model;
static struct top_process processes[PROCESSES];
static struct top_use uses[PROCESSES];
static struct top_pool pools[PROCESSES][2];
static struct top_rows rows;
static struct top_view view;

/* Process 100 + i has i + 1 GiB, and names from the end of the alphabet; each has two pools. */
static void make(void)
{
	static const char *const names[] = { "zeta", "yankee", "x-ray", "whisky", "victor" };

	memset(&model, 0, sizeof(model));
	model.processes = processes;
	model.count = PROCESSES;
	for (int i = 0; i < PROCESSES; i++) {
		memset(&processes[i], 0, sizeof(processes[i]));
		memset(&uses[i], 0, sizeof(uses[i]));
		memset(pools[i], 0, sizeof(pools[i]));
		processes[i].pid = 100 + i;
		snprintf(processes[i].program, sizeof(processes[i].program), "%s", names[i]);
		processes[i].uses = &uses[i];
		processes[i].use_count = 1;
		processes[i].pools = pools[i];
		processes[i].pool_count = 2;
		uses[i].gpu = i % 2;
		uses[i].figures.live_bytes = ((uint64_t)i + 1) * GIB;
		uses[i].figures.reserved_bytes = 8 * GIB;
		uses[i].figures.is_used = true;
		uses[i].alloc_rate = 1000 - i;
		uses[i].nvml_bytes = TOP_NO_BYTES;
		for (int k = 0; k < 2; k++) {
			pools[i][k].number = (unsigned int)k;
			pools[i][k].gpu = i % 2;
			pools[i][k].figures.live_bytes = ((uint64_t)k + 1) * GIB;
			snprintf(pools[i][k].name, sizeof(pools[i][k].name), "pool-%d", k);
		}
	}
	top_view_init(&view);
}

static void draw(int height, int width)
{
	top_rows_fini(&rows);
	ck_assert(top_rows_build(&rows, &model, &view.order));
	ck_assert(frame_begin(&frame, height, width));
	top_view_follow(&view, &rows);
	top_draw(&frame, &view, &model, &rows);
}

static void press(int key)
{
	ck_assert(top_view_press(&view, &rows, key));
	draw(24, 80);
}

/* The last digits of the process IDs, in their order. */
static void check_order(const char *wanted)
{
	char got[64] = "";

	for (size_t i = 0; i < rows.count; i++) {
		const struct top_row *row = &rows.rows[i];
		size_t length = strlen(got);

		if (row->pool != NULL)
			got[length] = (char)('a' + row->pool->number);
		else
			got[length] = (char)('0' + row->process->pid - 100);
		got[length + 1] = '\0';
	}
	ck_assert_str_eq(got, wanted);
}

static char selected(void)
{
	return (char)('0' + rows.rows[view.selected].process->pid - 100);
}

START_TEST(keys_change_the_order)
{
	make();
	draw(24, 80);
	check_order("43210");
	press('P');
	check_order("01234");
	press('M');
	check_order("43210");
	press('I');
	check_order("01234");
	press('I');
	press('N');
	check_order("01234");
	press('>');
	ck_assert_int_eq(view.order.column, TOP_PROGRAM);
	check_order("43210");
	press(TOP_KEY_F0 + 6);
	ck_assert_int_eq(view.order.column, TOP_GPU);
	check_order("02413");
	press('<');
	press('<');
	press('<'); /* from the first to the last one, which exists without NVML */
	ck_assert_int_eq(view.order.column, TOP_DRIVER);
	press('>');
	ck_assert_int_eq(view.order.column, TOP_PID);
	press('T');
	check_order("01234");
}
END_TEST

START_TEST(every_column_sorts)
{
	make();
	for (int column = 0; column < TOP_COLUMNS; column++) {
		for (int inverted = 0; inverted < 2; inverted++) {
			view.order.column = (enum top_column)column;
			view.order.is_inverted = inverted != 0;
			uses[2].figures.cached_bytes = uses[2].figures.retired_bytes = 9;
			uses[2].figures.peak_live_bytes = uses[2].figures.failures = 9;
			uses[2].figures.driver_ns = uses[2].nvml_bytes = 9;
			uses[2].figures.live_bytes = uses[2].figures.reserved_bytes = 99 * GIB;
			uses[2].alloc_rate = 1e9;
			draw(24, 80);
			if (column > TOP_GPU)
				ck_assert_int_eq(
					rows.rows[inverted ? PROCESSES - 1 : 0].process->pid, 102);
		}
	}
}
END_TEST

START_TEST(pools_follow_their_process)
{
	make();
	draw(24, 80);
	press(TOP_KEY_DOWN);
	press('t');
	check_order("4ba3ba2ba1ba0ba");
	ck_assert_int_eq(selected(), '3');
	press('N');
	check_order("0ab1ab2ab3ab4ab");
	ck_assert_int_eq(selected(), '3');
	press(TOP_KEY_DOWN);
	ck_assert_ptr_nonnull(rows.rows[view.selected].pool);
	press('t');
	check_order("01234");
	ck_assert_int_eq(selected(), '3');
	ck_assert_ptr_null(rows.rows[view.selected].pool);
}
END_TEST

START_TEST(selection_follows_the_process)
{
	make();
	draw(24, 80);
	ck_assert_int_eq(selected(), '4');
	press(TOP_KEY_DOWN);
	press(TOP_KEY_DOWN);
	ck_assert_int_eq(selected(), '2');
	press('I');
	ck_assert_int_eq(selected(), '2');
	uses[2].figures.live_bytes = 100 * GIB;
	draw(24, 80);
	ck_assert_int_eq(selected(), '2');
	ck_assert_uint_eq(view.selected, 4);
	press(TOP_KEY_HOME);
	ck_assert_uint_eq(view.selected, 0);
	press(TOP_KEY_UP);
	ck_assert_uint_eq(view.selected, 0);
	press(TOP_KEY_END);
	press(TOP_KEY_DOWN);
	ck_assert_uint_eq(view.selected, 4);
	model.count = 2; /* processes ended, the selected one too */
	draw(24, 80);
	ck_assert_uint_eq(view.selected, 1);
	model.count = 0;
	draw(24, 80);
	press(TOP_KEY_DOWN);
	press(TOP_KEY_ENTER);
	ck_assert_int_eq(view.screen, TOP_LIST);
}
END_TEST

START_TEST(search_selects)
{
	make();
	draw(24, 80);
	press('/');
	press('W');
	press('h');
	ck_assert_int_eq(selected(), '3');
	press('q'); /* a character, not the key */
	ck_assert(view.was_not_found);
	press(TOP_KEY_ERASE);
	ck_assert(!view.was_not_found);
	press(TOP_KEY_ENTER);
	ck_assert(!view.is_searching);
	ck_assert_int_eq(selected(), '3');
	press(TOP_KEY_F0 + 3);
	press('1');
	press('0');
	press(TOP_KEY_F0 + 3);
	ck_assert_int_eq(selected(), '2');
	press(TOP_KEY_F0 + 3);
	press(TOP_KEY_F0 + 3);
	press(TOP_KEY_F0 + 3);
	ck_assert_int_eq(selected(), '4');
	for (int i = 0; i < 100; i++)
		press('x');
	press(TOP_KEY_ESCAPE);
	ck_assert(!view.is_searching);
	ck_assert_int_eq(view.screen, TOP_LIST);
}
END_TEST

START_TEST(screens_change)
{
	make();
	draw(24, 80);
	press(TOP_KEY_DOWN);
	press(TOP_KEY_ENTER);
	ck_assert_int_eq(view.screen, TOP_PROCESS);
	check_line(0, "whisky  process 103");
	press(TOP_KEY_PAGE_DOWN);
	press(TOP_KEY_ESCAPE);
	ck_assert_int_eq(view.screen, TOP_LIST);
	press('h');
	ck_assert_int_eq(view.screen, TOP_HELP);
	press('q');
	ck_assert_int_eq(view.screen, TOP_LIST);
	press(' ');
	ck_assert(view.is_paused);
	press(' ');
	ck_assert(!view.is_paused);
	ck_assert(!top_view_press(&view, &rows, 'q'));
	ck_assert(!top_view_press(&view, &rows, TOP_KEY_F0 + 10));
	press(TOP_KEY_ENTER);
	ck_assert(!top_view_press(&view, &rows, TOP_KEY_F0 + 10));
	model.count = 3; /* the process ended: no other one appears in its place */
	draw(24, 80);
	check_line(0, "The process has ended.");
}
END_TEST

START_TEST(list_scrolls_to_the_selected_row)
{
	make();
	draw(9, 80); /* room for 2 or more rows, but not for all */
	ck_assert_int_lt(view.body_rows, PROCESSES);
	ck_assert(top_view_press(&view, &rows, TOP_KEY_END));
	draw(9, 80);
	ck_assert_uint_eq(view.first + (size_t)view.body_rows, PROCESSES);
	ck_assert_int_eq(frame.cells[7 * 80].style, FRAME_SELECTED);
	ck_assert(top_view_press(&view, &rows, TOP_KEY_HOME));
	draw(9, 80);
	ck_assert_uint_eq(view.first, 0);
	draw(40, 80);
	ck_assert_uint_eq(view.first, 0);
}
END_TEST

START_TEST(process_screen_scrolls_to_its_last_line)
{
	int last;

	make();
	draw(12, 80);
	ck_assert(top_view_press(&view, &rows, TOP_KEY_ENTER));
	ck_assert(top_view_press(&view, &rows, TOP_KEY_END));
	draw(12, 80);
	last = view.scrolled;
	ck_assert_int_gt(last, 0);
	check_line(10, "         0 driver calls in 0");
	ck_assert(top_view_press(&view, &rows, TOP_KEY_DOWN));
	draw(12, 80);
	ck_assert_int_eq(view.scrolled, last);
	ck_assert(top_view_press(&view, &rows, TOP_KEY_HOME));
	draw(12, 80);
	ck_assert_int_eq(view.scrolled, 0);
}
END_TEST

static void click(enum top_click kind, int row, int column)
{
	ck_assert(top_view_click(&view, &rows, kind, row, column));
	draw(24, 80);
}

START_TEST(mouse_selects_and_sorts)
{
	make();
	draw(24, 80);
	click(TOP_CLICK, view.heading_row + 3, 10);
	ck_assert_int_eq(selected(), '2');
	click(TOP_CLICK, view.heading_row + 3, 10);
	ck_assert_int_eq(view.screen, TOP_PROCESS);
	press(TOP_KEY_ESCAPE);
	click(TOP_CLICK, view.heading_row + 1 + PROCESSES, 10); /* below the last row */
	ck_assert_int_eq(selected(), '2');
	click(TOP_CLICK, view.heading_row, 2);
	check_order("01234");
	click(TOP_CLICK, view.heading_row, 2);
	check_order("43210");
	click(TOP_CLICK, view.heading_row, view.starts[TOP_RATE] + 3);
	ck_assert_int_eq(view.order.column, TOP_RATE);
	click(TOP_CLICK, 0, 5);
	click(TOP_WHEEL_UP, 10, 10);
	click(TOP_WHEEL_DOWN, 10, 10);
	ck_assert_uint_eq(view.selected, 3);
	click(TOP_CLICK, 23, view.buttons[0].start);
	ck_assert_int_eq(view.screen, TOP_HELP);
	click(TOP_CLICK, 23, view.buttons[0].start + 1);
	ck_assert_int_eq(view.screen, TOP_LIST);
	for (int i = 0; i < 8; i++) {
		if (view.buttons[i].key == TOP_KEY_F0 + 10)
			ck_assert(!top_view_click(&view, &rows, TOP_CLICK, 23,
						  view.buttons[i].start));
	}
}
END_TEST

START_TEST(list_is_as_wanted_at_80_columns)
{
	make();
	model.count = 2;
	uses[1].figures.failures = 3;
	uses[1].figures.driver_ns = 1500000;
	draw(24, 80);
	check_line(0, "mam top  2 processes, 2 GPUs, 0 pools  live 3.00G  reserved 16.0G");
	check_line(
		4,
		"    101 yankee        1 2.00G      0       0    8.00G     0     999     3 1.50ms");
	check_line(
		5,
		"    100 zeta          0 1.00G      0       0    8.00G     0   1.00k     0      0");
	check_line(23, "F1Help F3Search F5Pools F6Sort IInvert SpacePause EnterProcess F10Quit");
	ck_assert_int_eq(frame.cells[4 * 80].style, FRAME_SELECTED);
	ck_assert_int_eq(frame.cells[5 * 80 + 70].style, FRAME_NORMAL);
}
END_TEST

/* Under a sanitizer, a write outside of the frame is found. */
START_TEST(every_size_can_be_drawn)
{
	make();
	model.gpu_count = 2;
	model.gpus[0].total_bytes = 80 * GIB;
	for (int i = 0; i < PROCESSES; i++)
		pools[i][0].figures.failures = UINT64_MAX;
	for (int screen = TOP_LIST; screen <= TOP_HELP; screen++) {
		for (int searching = 0; searching < 2; searching++) {
			for (int width = 1; width < 260; width += 1 + width / 10) {
				for (int height = 1; height < 60; height += 1 + height / 10) {
					view.screen = (enum top_screen)screen;
					view.is_searching = searching != 0;
					view.order.with_pools = width % 2 == 0;
					view.scrolled = height;
					draw(height, width);
					top_view_click(&view, &rows, TOP_CLICK, height - 1,
						       width - 1);
				}
			}
		}
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("view");
	TCase *tests = tcase_create("view");
	SRunner *runner;
	int failed;

	tcase_add_test(tests, numbers_are_short);
	tcase_add_test(tests, text_is_cut_off_at_the_edge);
	tcase_add_loop_test(tests, text_of_any_bytes_has_one_column_per_character, 0,
			    sizeof(texts) / sizeof(texts[0]));
	tcase_add_test(tests, bar_has_the_parts);
	tcase_add_test(tests, curve_has_the_heights);
	tcase_add_test(tests, keys_change_the_order);
	tcase_add_test(tests, every_column_sorts);
	tcase_add_test(tests, pools_follow_their_process);
	tcase_add_test(tests, selection_follows_the_process);
	tcase_add_test(tests, search_selects);
	tcase_add_test(tests, screens_change);
	tcase_add_test(tests, list_scrolls_to_the_selected_row);
	tcase_add_test(tests, process_screen_scrolls_to_its_last_line);
	tcase_add_test(tests, mouse_selects_and_sorts);
	tcase_add_test(tests, list_is_as_wanted_at_80_columns);
	tcase_add_test(tests, every_size_can_be_drawn);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
