/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_line.h - iterate over the lines of an input.
 */
#ifndef TOOLS_READ_LINE_H
#define TOOLS_READ_LINE_H

#include "read/input.h"

#define READ_LINE_BYTES 65536 /* maximum length of a line */

struct read_line {
	char *text;          /* the line without its end ("\n" or "\r\n"); may be modified */
	uint64_t number;     /* line number, from 1 */
	const char *trouble; /* why there are no more lines, or NULL at the end of the input */
	bool cut;            /* the input is truncated */
	struct input *input;
	char *room; /* 2 * READ_LINE_BYTES; at .. end are unread */
	size_t at, end;
	bool ended;
};

/* read_line_init - false: out of memory. */
bool read_line_init(struct read_line *line, struct input *input);
void read_line_fini(struct read_line *line);

/* read_line_next - false: no more lines. A zero byte in a line ends its text. */
bool read_line_next(struct read_line *line);

#endif
