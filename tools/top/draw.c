/* SPDX-License-Identifier: Apache-2.0 */
/*
 * draw.c - the last row of each screen, and the help.
 */
#include <stdio.h>
#include <string.h>

#include "top/view.h"

static const struct {
	const char *keys, *effect;
} help[] = {
	{ "arrows, PgUp, PgDn, Home, End", "select a row; scroll" },
	{ "Enter", "show the selected process: all figures of its pools" },
	{ "Esc, q", "return to the list; q in the list, and F10: quit" },
	{ "F3 /", "search for a program, pool or process ID; F3 again: the next one" },
	{ "F5 t", "show the pools of each process" },
	{ "F6 > <", "sort by the next or previous column; or click on its heading" },
	{ "P M T N", "sort by allocations per second, live bytes, driver time, process" },
	{ "I", "invert the order" },
	{ "space", "pause, and continue" },
	{ "F1 h ?", "this help" },
};
#define HELP_LINES (sizeof(help) / sizeof(help[0]))

void top_draw_help(struct frame *frame, struct top_view *view)
{
	int row = 2 - view->scrolled;

	view->heading_row = 1;
	view->body_rows = frame->rows - 3;
	for (size_t i = 0; i < HELP_LINES; i++, row++) {
		if (row < 2 || row >= frame->rows - 1)
			continue;
		frame_put(frame, row, 1, 0, FRAME_STRONG, help[i].keys);
		frame_put(frame, row, 15 + 16 * (i == 0), 0, FRAME_NORMAL, help[i].effect);
	}
	row++;
	for (int i = 0; i < TOP_COLUMNS; i++, row++) {
		if (row < 2 || row >= frame->rows - 1)
			continue;
		frame_put(frame, row, 1, 0, FRAME_STRONG, top_heading((enum top_column)i));
		frame_put(frame, row, 15, 0, FRAME_NORMAL, top_explanation((enum top_column)i));
	}
	frame_put(frame, 0, 0, 0, FRAME_STRONG, "Keys and columns of mam top");
}

struct button {
	const char *key, *label;
	int code;
};

static const struct button list_buttons[] = {
	{ "F1", "Help", TOP_KEY_F0 + 1 },
	{ "F3", "Search", TOP_KEY_F0 + 3 },
	{ "F5", "Pools", TOP_KEY_F0 + 5 },
	{ "F6", "Sort", TOP_KEY_F0 + 6 },
	{ "I", "Invert", 'I' },
	{ "Space", "Pause", ' ' },
	{ "Enter", "Process", TOP_KEY_ENTER },
	{ "F10", "Quit", TOP_KEY_F0 + 10 },
};
static const struct button other_buttons[] = {
	{ "Esc", "Back", TOP_KEY_ESCAPE },
	{ "Space", "Pause", ' ' },
	{ "F10", "Quit", TOP_KEY_F0 + 10 },
};

static void draw_buttons(struct frame *frame, struct top_view *view, const struct button *buttons,
			 size_t count)
{
	int row = frame->rows - 1, column = 0;

	for (size_t i = 0; i < count; i++) {
		view->buttons[i].start = column;
		view->buttons[i].key = buttons[i].code;
		column = frame_put(frame, row, column, 0, FRAME_STRONG, buttons[i].key);
		column = frame_put(frame, row, column, 0, FRAME_HEADING, buttons[i].label);
		column = frame_put(frame, row, column, 0, FRAME_NORMAL, " ");
	}
	view->buttons[count].start = column;
	view->buttons[count].key = 0;
}

static void draw_search(struct frame *frame, struct top_view *view)
{
	int row = frame->rows - 1;
	int column = frame_put(frame, row, 0, 0, FRAME_STRONG, "Search: ");

	view->buttons[0].key = 0;
	column = frame_put(frame, row, column, 0, FRAME_NORMAL, view->search);
	column = frame_put(frame, row, column, 0, FRAME_HEADING, " ");
	if (view->was_not_found)
		column = frame_put(frame, row, column + 1, 0, FRAME_ALERT, "not found");
	frame_put(frame, row, column + 2, 0, FRAME_NORMAL, "F3 next  Enter done");
}

void top_draw(struct frame *frame, struct top_view *view, const struct top_model *model,
	      const struct top_rows *rows)
{
	if (view->screen == TOP_LIST)
		top_draw_list(frame, view, model, rows);
	else if (view->screen == TOP_PROCESS)
		top_draw_process(frame, view, model, rows);
	else
		top_draw_help(frame, view);
	if (view->is_searching)
		draw_search(frame, view);
	else if (view->screen == TOP_LIST)
		draw_buttons(frame, view, list_buttons,
			     sizeof(list_buttons) / sizeof(list_buttons[0]));
	else
		draw_buttons(frame, view, other_buttons,
			     sizeof(other_buttons) / sizeof(other_buttons[0]));
}
