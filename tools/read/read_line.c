/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_line.c - iterate over the lines of an input, in place in the buffer.
 */
#include "read/read_line.h"

#include <stdlib.h>
#include <string.h>

bool read_line_init(struct read_line *line, struct input *input)
{
	*line = (struct read_line){ .input = input };
	line->room = malloc(2 * READ_LINE_BYTES + 1);
	return line->room != NULL;
}

void read_line_fini(struct read_line *line)
{
	free(line->room);
	line->room = NULL;
}

/* Read more bytes after the unread ones. */
static bool refill(struct read_line *line)
{
	size_t got;

	memmove(line->room, line->room + line->at, line->end - line->at);
	line->end -= line->at;
	line->at = 0;
	if (input_read(line->input, line->room + line->end, 2 * READ_LINE_BYTES - line->end,
		       &got) != MAM_OK) {
		line->trouble = input_trouble(line->input);
		line->cut = true;
		return false;
	}
	line->end += got;
	line->ended = got == 0;
	return true;
}

/* Return the line of bytes at .. end_of_line of the buffer; its line end has `skip` bytes. */
static bool give(struct read_line *line, size_t end_of_line, size_t skip)
{
	line->text = line->room + line->at;
	line->at = end_of_line + skip;
	if (end_of_line > (size_t)(line->text - line->room) && line->room[end_of_line - 1] == '\r')
		end_of_line--;
	line->room[end_of_line] = '\0';
	line->number++;
	return true;
}

bool read_line_next(struct read_line *line)
{
	for (;;) {
		const char *end = memchr(line->room + line->at, '\n', line->end - line->at);

		if (end)
			return give(line, (size_t)(end - line->room), 1);
		if (line->end - line->at > READ_LINE_BYTES) {
			line->trouble = "a line is too long";
			return false;
		}
		if (line->ended)
			return line->at < line->end && give(line, line->end, 0);
		if (!refill(line))
			return false;
	}
}
