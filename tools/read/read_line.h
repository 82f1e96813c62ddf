/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_line.h - the lines of an input, one after the other.
 */
#ifndef TOOLS_READ_LINE_H
#define TOOLS_READ_LINE_H

#include "read/input.h"

#define READ_LINE_BYTES 65536 /* most of a line */

struct read_line {
	char *text;          /* the line, without its end ("\n" or "\r\n"); may be written into */
	uint64_t number;     /* of it, from 1 */
	const char *trouble; /* why there are no more, or NULL: the input has ended */
	bool cut;            /* the input ends too early */
	struct input *input;
	char *room; /* 2 * READ_LINE_BYTES, of which at .. end are not given out yet */
	size_t at, end;
	bool ended;
};

/* read_line_init - false: no memory. */
bool read_line_init(struct read_line *line, struct input *input);
void read_line_fini(struct read_line *line);

/* read_line_next - false: there are no more lines. A zero byte in a line ends its text. */
bool read_line_next(struct read_line *line);

#endif
