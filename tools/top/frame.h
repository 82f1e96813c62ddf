/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame.h - the contents of a screen, without a terminal: characters with a style each.
 */
#ifndef TOOLS_TOP_FRAME_H
#define TOOLS_TOP_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The terminal's own colors are the background, except that of headings and the selected row. */
enum frame_style {
	FRAME_NORMAL,
	FRAME_STRONG,
	FRAME_HEADING,
	FRAME_SORTED, /* the heading by which rows are sorted */
	FRAME_SELECTED,
	FRAME_LIVE,
	FRAME_CACHED,
	FRAME_RETIRED,
	FRAME_ALERT,
	FRAME_STYLES
};

struct frame_cell {
	char text[5]; /* one character of UTF-8, of one column */
	unsigned char style;
};

struct frame {
	int rows, columns;
	bool is_utf8; /* in: the terminal shows UTF-8; otherwise ASCII replaces other characters */
	struct frame_cell *cells;
};

/* frame_begin - blanks, of that size. False: out of memory (reported). */
bool frame_begin(struct frame *frame, int rows, int columns);
void frame_fini(struct frame *frame);

/*
 * frame_put - write text at a place, and return the column after it. Text that does not fit in the row,
 * or in `width` columns if that is above 0, is cut off; rows outside of the frame are ignored.
 * frame_put_right - the same, flush right in `width` columns.
 */
int frame_put(struct frame *frame, int row, int column, int width, enum frame_style style,
	      const char *text);
int frame_put_right(struct frame *frame, int row, int column, int width, enum frame_style style,
		    const char *text);

/* frame_style_row - give a whole row that style. */
void frame_style_row(struct frame *frame, int row, enum frame_style style);

/* frame_line - the text of a row without blanks at its end. The caller frees it; NULL: no memory. */
char *frame_line(const struct frame *frame, int row);

struct frame_bar {
	uint64_t live, cached, retired, reserved; /* bytes; the last one includes the others */
	uint64_t whole;                           /* bytes of the full width */
};

/* frame_put_bar - "[||||::..      ]", of that width with its brackets. */
int frame_put_bar(struct frame *frame, int row, int column, int width, const struct frame_bar *bar);

/*
 * frame_put_curve - `width` values as columns of different height, the oldest first; `highest` is
 * the full height.
 */
int frame_put_curve(struct frame *frame, int row, int column, int width, const uint64_t *values,
		    uint64_t highest);

#endif
