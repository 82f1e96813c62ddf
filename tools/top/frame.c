/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame.c - see frame.h.
 */
#include "top/frame.h"

#include <stdlib.h>
#include <string.h>

#include "kit/message.h"
#include "kit/utf8.h"

bool frame_begin(struct frame *frame, int rows, int columns)
{
	struct frame_cell *cells;

	rows = rows < 1 ? 1 : rows;
	columns = columns < 1 ? 1 : columns;
	cells = (struct frame_cell *)realloc(frame->cells, (size_t)rows * (size_t)columns *
								   sizeof(*frame->cells));
	if (cells == NULL) {
		message_error("out of memory");
		return false;
	}
	frame->cells = cells;
	frame->rows = rows;
	frame->columns = columns;
	for (int i = 0; i < rows * columns; i++)
		cells[i] = (struct frame_cell){ " ", FRAME_NORMAL };
	return true;
}

void frame_fini(struct frame *frame)
{
	free(frame->cells);
	frame->cells = NULL;
}

/*
 * Whether a character outside of ASCII has one column on any terminal: letters of Latin, Greek and
 * Cyrillic, lines and blocks.
 */
static bool is_narrow(const char *text, size_t length)
{
	unsigned char first = (unsigned char)text[0], second = (unsigned char)text[1];

	if (length == 2)
		return first == 0xc2 ? second >= 0xa0
				     : first <= 0xcb || (first >= 0xce && first <= 0xd1);
	return length == 3 && first == 0xe2 && second >= 0x94 && second <= 0x96;
}

/* Any bytes: a character that a terminal might interpret or show otherwise is replaced. */
static size_t take_character(const struct frame *frame, const char *text, char to[5])
{
	size_t length = utf8_length(text, strlen(text));
	bool is_shown = length == 1 ? (unsigned char)*text >= 0x20 && *text != 0x7f
				    : length != 0 && frame->is_utf8 && is_narrow(text, length);

	memcpy(to, is_shown ? text : "?", is_shown ? length : 1);
	to[is_shown ? length : 1] = '\0';
	return length == 0 ? 1 : length;
}

int frame_put(struct frame *frame, int row, int column, int width, enum frame_style style,
	      const char *text)
{
	int end = width > 0 && column + width < frame->columns ? column + width : frame->columns;

	while (*text && column < end) {
		struct frame_cell cell = { .style = (unsigned char)style };

		text += take_character(frame, text, cell.text);
		if (row >= 0 && row < frame->rows && column >= 0)
			frame->cells[row * frame->columns + column] = cell;
		column++;
	}
	return column;
}

static int columns_of(const char *text)
{
	int count = 0;

	for (; *text; text++)
		count += ((unsigned char)*text & 0xc0) != 0x80;
	return count;
}

int frame_put_right(struct frame *frame, int row, int column, int width, enum frame_style style,
		    const char *text)
{
	int blank = width - columns_of(text);

	return frame_put(frame, row, column + (blank > 0 ? blank : 0), blank > 0 ? 0 : width, style,
			 text);
}

void frame_style_row(struct frame *frame, int row, enum frame_style style)
{
	for (int i = 0; i < frame->columns && row >= 0 && row < frame->rows; i++)
		frame->cells[row * frame->columns + i].style = (unsigned char)style;
}

char *frame_line(const struct frame *frame, int row)
{
	char *line = (char *)malloc((size_t)frame->columns * 4 + 1), *end = line;

	if (line == NULL)
		return NULL;
	for (int i = 0; i < frame->columns; i++)
		end = stpcpy(end, frame->cells[row * frame->columns + i].text);
	while (end > line && end[-1] == ' ')
		end--;
	*end = '\0';
	return line;
}

/* Rounded to the nearest; what is not 0 has at least one column, if there is one. */
static int share(uint64_t bytes, uint64_t whole, int width, int left)
{
	int share_columns;

	if (bytes == 0 || whole == 0)
		return 0;
	if (bytes > whole)
		bytes = whole;
	share_columns = (int)((double)bytes / (double)whole * width + 0.5);
	share_columns = share_columns == 0 ? 1 : share_columns;
	return share_columns < left ? share_columns : left;
}

int frame_put_bar(struct frame *frame, int row, int column, int width, const struct frame_bar *bar)
{
	static const char marks[] = "|:.-";
	static const enum frame_style styles[] = { FRAME_LIVE, FRAME_CACHED, FRAME_RETIRED,
						   FRAME_NORMAL };
	uint64_t used = bar->live + bar->cached + bar->retired;
	uint64_t parts[4] = { bar->live, bar->cached, bar->retired,
			      bar->reserved > used ? bar->reserved - used : 0 };
	int left = width - 2;

	if (left < 1)
		return column;
	column = frame_put(frame, row, column, 1, FRAME_STRONG, "[");
	for (int i = 0; i < 4; i++) {
		int part = share(parts[i], bar->whole, width - 2, left);
		char mark[2] = { marks[i], '\0' };

		left -= part;
		while (part-- > 0)
			column = frame_put(frame, row, column, 1, styles[i], mark);
	}
	return frame_put(frame, row, column + left, 1, FRAME_STRONG, "]");
}

int frame_put_curve(struct frame *frame, int row, int column, int width, const uint64_t *values,
		    uint64_t highest)
{
	static const char *const utf8[] = { " ",
					    "\xe2\x96\x81",
					    "\xe2\x96\x82",
					    "\xe2\x96\x83",
					    "\xe2\x96\x84",
					    "\xe2\x96\x85",
					    "\xe2\x96\x86",
					    "\xe2\x96\x87",
					    "\xe2\x96\x88" };
	static const char *const ascii[] = { " ", "_", ".", "-", "~", "=", "+", "*", "#" };

	for (int i = 0; i < width; i++) {
		int level = share(values[i], highest, 8, 8);

		column = frame_put(frame, row, column, 1, FRAME_LIVE,
				   frame->is_utf8 ? utf8[level] : ascii[level]);
	}
	return column;
}
