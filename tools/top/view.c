/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.c - see view.h. The keys are those of htop and top.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strcasestr */
#endif
#include "top/view.h"

#include <string.h>

#define WHEEL_ROWS 3

void top_view_init(struct top_view *view)
{
	memset(view, 0, sizeof(*view));
	view->order.column = TOP_LIVE;
	view->place.pool = -1;
}

static struct top_place place_of(const struct top_row *row)
{
	struct top_place place = {
		.pid = row->process->pid,
		.start = row->process->start,
		.copy = row->process->copy,
		.gpu = row->use->gpu,
		.pool = row->pool == NULL ? -1 : (int)row->pool->number,
	};

	return place;
}

static bool is_at(const struct top_row *row, const struct top_place *place, bool any_pool)
{
	struct top_place at = place_of(row);

	return at.pid == place->pid && at.start == place->start && at.copy == place->copy &&
	       at.gpu == place->gpu && (any_pool || at.pool == place->pool);
}

static void select_row(struct top_view *view, const struct top_rows *rows, size_t index)
{
	if (rows->count == 0)
		return;
	view->selected = index < rows->count ? index : rows->count - 1;
	view->place = place_of(&rows->rows[view->selected]);
}

/* The row itself, or that of its process if its pool is not shown anymore. */
void top_view_follow(struct top_view *view, const struct top_rows *rows)
{
	for (int any_pool = 0; any_pool < 2; any_pool++) {
		for (size_t i = 0; i < rows->count; i++) {
			if (!is_at(&rows->rows[i], &view->place, any_pool != 0))
				continue;
			select_row(view, rows, i);
			return;
		}
	}
	/* It has ended. Another process must not appear in its place. */
	if (view->screen == TOP_LIST)
		select_row(view, rows, view->selected);
}

static void move(struct top_view *view, const struct top_rows *rows, long by)
{
	if (view->screen != TOP_LIST) {
		view->scrolled = view->scrolled + by < 0 ? 0 : view->scrolled + (int)by;
		return;
	}
	select_row(view, rows,
		   by < 0 && (size_t)-by > view->selected ? 0 : view->selected + (size_t)by);
}

static bool is_match(const struct top_row *row, const char *search)
{
	return strcasestr(row->process->program, search) != NULL ||
	       strstr(top_cell(row, TOP_PID).text, search) != NULL ||
	       (row->pool != NULL && strcasestr(row->pool->name, search) != NULL);
}

/* From the row `skipped` rows after the selected one on, and around. */
static void search(struct top_view *view, const struct top_rows *rows, size_t skipped)
{
	view->was_not_found = false;
	for (size_t i = 0; i < rows->count && view->search[0] != '\0'; i++) {
		size_t index = (view->selected + skipped + i) % rows->count;

		if (!is_match(&rows->rows[index], view->search))
			continue;
		select_row(view, rows, index);
		return;
	}
	view->was_not_found = view->search[0] != '\0';
}

static void press_in_search(struct top_view *view, const struct top_rows *rows, int key)
{
	size_t length = strlen(view->search);

	if (key == TOP_KEY_ENTER || key == TOP_KEY_ESCAPE) {
		view->is_searching = false;
		view->was_not_found = false;
	} else if (key == TOP_KEY_F0 + 3) {
		search(view, rows, 1);
	} else if (key == TOP_KEY_ERASE) {
		view->search[length == 0 ? 0 : length - 1] = '\0';
		search(view, rows, 0);
	} else if (key >= 0x20 && key < 0x7f && length + 1 < sizeof(view->search)) {
		view->search[length] = (char)key;
		view->search[length + 1] = '\0';
		search(view, rows, 0);
	}
}

/* Also one that this screen has no room for, except that of NVML, which need not exist. */
static void sort_by_neighbor(struct top_view *view, int step)
{
	int column = (int)view->order.column + step, count = TOP_COLUMNS;

	if (view->starts[TOP_NVML] < 0)
		count = TOP_NVML;
	view->order.column = (enum top_column)((column + count) % count);
}

/* Keys of the list alone. */
static void press_in_list(struct top_view *view, int key)
{
	switch (key) {
	case '/':
	case TOP_KEY_F0 + 3:
		view->is_searching = true;
		view->search[0] = '\0';
		break;
	case TOP_KEY_F0 + 5:
	case 't': view->order.with_pools = !view->order.with_pools; break;
	case TOP_KEY_F0 + 6:
	case '>':
	case '.': sort_by_neighbor(view, 1); break;
	case '<':
	case ',': sort_by_neighbor(view, -1); break;
	case 'I': view->order.is_inverted = !view->order.is_inverted; break;
	case 'P': view->order.column = TOP_RATE; break;
	case 'M': view->order.column = TOP_LIVE; break;
	case 'T': view->order.column = TOP_DRIVER; break;
	case 'N': view->order.column = TOP_PID; break;
	default: break;
	}
}

static bool move_by_key(struct top_view *view, const struct top_rows *rows, int key)
{
	long page = view->body_rows > 1 ? view->body_rows - 1 : 1;

	switch (key) {
	case TOP_KEY_UP: move(view, rows, -1); return true;
	case TOP_KEY_DOWN: move(view, rows, 1); return true;
	case TOP_KEY_PAGE_UP: move(view, rows, -page); return true;
	case TOP_KEY_PAGE_DOWN: move(view, rows, page); return true;
	case TOP_KEY_HOME: move(view, rows, -1000000); return true;
	case TOP_KEY_END: move(view, rows, 1000000); return true;
	default: return false;
	}
}

static void show(struct top_view *view, enum top_screen screen)
{
	view->screen = screen;
	view->scrolled = 0;
}

bool top_view_press(struct top_view *view, const struct top_rows *rows, int key)
{
	if (key == TOP_KEY_F0 + 10)
		return false;
	if (view->is_searching) {
		press_in_search(view, rows, key);
		return true;
	}
	if (key == ' ')
		view->is_paused = !view->is_paused;
	if (key == ' ' || move_by_key(view, rows, key))
		return true;
	if (view->screen != TOP_LIST) {
		if (key == 'q' || key == TOP_KEY_ESCAPE || key == TOP_KEY_ERASE ||
		    key == TOP_KEY_ENTER)
			show(view, TOP_LIST);
		return true;
	}
	if (key == 'q')
		return false;
	if (key == 'h' || key == '?' || key == TOP_KEY_F0 + 1)
		show(view, TOP_HELP);
	else if (key == TOP_KEY_ENTER && rows->count != 0)
		show(view, TOP_PROCESS);
	else
		press_in_list(view, key);
	return true;
}

static bool click_button(struct top_view *view, const struct top_rows *rows, int column)
{
	int key = 0;

	for (size_t i = 0; i < sizeof(view->buttons) / sizeof(view->buttons[0]) &&
			   view->buttons[i].key != 0 && view->buttons[i].start <= column;
	     i++)
		key = view->buttons[i].key;
	return key == 0 || top_view_press(view, rows, key);
}

/* A second click on the same heading inverts the order. */
static void click_heading(struct top_view *view, int column)
{
	int found = -1;

	for (int i = 0; i < TOP_COLUMNS; i++)
		if (view->starts[i] >= 0 && view->starts[i] <= column &&
		    (found < 0 || view->starts[i] > view->starts[found]))
			found = i;
	if (found < 0)
		return;
	if ((int)view->order.column == found)
		view->order.is_inverted = !view->order.is_inverted;
	view->order.column = (enum top_column)found;
}

bool top_view_click(struct top_view *view, const struct top_rows *rows, enum top_click click,
		    int row, int column)
{
	int body = view->heading_row + 1;
	size_t index = view->first + (size_t)(row - body);

	if (click != TOP_CLICK) {
		move(view, rows, click == TOP_WHEEL_UP ? -WHEEL_ROWS : WHEEL_ROWS);
		return true;
	}
	if (row >= body + view->body_rows)
		return click_button(view, rows, column);
	if (view->screen != TOP_LIST)
		return true;
	if (row == view->heading_row)
		click_heading(view, column);
	else if (row >= body && index < rows->count && index == view->selected)
		show(view, TOP_PROCESS);
	else if (row >= body && index < rows->count)
		select_row(view, rows, index);
	return true;
}
