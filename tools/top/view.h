/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.h - what the screen of mam top shows: which view, order and row; and how keys and the mouse
 * change that. Nothing here depends on a terminal.
 */
#ifndef TOOLS_TOP_VIEW_H
#define TOOLS_TOP_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "top/columns.h"
#include "top/frame.h"
#include "top/model.h"

enum top_screen {
	TOP_LIST,    /* all processes */
	TOP_PROCESS, /* the selected one */
	TOP_HELP
};

/* Keys other than characters. */
enum top_key {
	TOP_KEY_UP = 0x1000,
	TOP_KEY_DOWN,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_ENTER,
	TOP_KEY_ESCAPE,
	TOP_KEY_ERASE,
	TOP_KEY_F0 = 0x1100 /* F1 is TOP_KEY_F0 + 1 */
};

enum top_click { TOP_CLICK, TOP_WHEEL_UP, TOP_WHEEL_DOWN };

/* Identifies a row in all samples. */
struct top_place {
	pid_t pid;
	uint64_t start;
	unsigned int copy;
	int gpu;
	int pool; /* index on the page; -1: a process */
};

struct top_view {
	enum top_screen screen;
	struct top_order order;
	bool is_paused;
	bool is_searching;
	bool was_not_found;
	char search[32];
	struct top_place place; /* of the selected row */
	size_t selected;        /* its index */
	size_t first;           /* row at the top */
	int scrolled;           /* rows above the top, in the other screens */
	/* set by drawing */
	int heading_row;         /* of the table */
	int body_rows;           /* number of rows that scroll */
	int starts[TOP_COLUMNS]; /* first column of a heading; -1: not shown */
	struct {
		int start;
		int key;
	} buttons[12]; /* in the last row; key 0 ends the list */
};

void top_view_init(struct top_view *view);

/* top_view_follow - after a sample or another order: find the selected row again. */
void top_view_follow(struct top_view *view, const struct top_rows *rows);

/* top_view_press - a key. False: quit. The caller builds the rows again and follows. */
bool top_view_press(struct top_view *view, const struct top_rows *rows, int key);

/* top_view_click - the mouse at a place of the last frame. False: quit. */
bool top_view_click(struct top_view *view, const struct top_rows *rows, enum top_click click,
		    int row, int column);

/* top_draw - draw the frame, whose size is set. */
void top_draw(struct frame *frame, struct top_view *view, const struct top_model *model,
	      const struct top_rows *rows);

/* The parts of top_draw(): a screen each. Without the last row, which has the buttons. */
void top_draw_list(struct frame *frame, struct top_view *view, const struct top_model *model,
		   const struct top_rows *rows);
void top_draw_process(struct frame *frame, struct top_view *view, const struct top_model *model,
		      const struct top_rows *rows);
void top_draw_help(struct frame *frame, struct top_view *view);

#endif
