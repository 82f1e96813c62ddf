/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_mam_line.h - one event of a trace as in mam-trace(5), for read_mam.c.
 */
#ifndef TOOLS_READ_MAM_LINE_H
#define TOOLS_READ_MAM_LINE_H

#include <mam/trace.h>

#include "replay/replay_build.h"

struct read_mam_line {
	struct replay_told told;
	bool frees;
	char who[MAM_TRACE_LINE_BYTES];
};

/*
 * read_mam_line_fast - parse a line that is written as mam run writes it: single blanks, known
 * fields, numbers below 10^19. False: it is written differently, or invalid. Does not set told.place.
 * pre: *end is a newline.
 */
bool read_mam_line_fast(struct read_mam_line *line, const char *at, const char *end);

/* read_mam_line_event - the same from an event of the library's parser. */
void read_mam_line_event(struct read_mam_line *line, const struct mam_trace_event *event);

/* read_mam_line_name - put the tags before the call site: "TAGS, WHO". */
void read_mam_line_name(struct read_mam_line *line);

#endif
