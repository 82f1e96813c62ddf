/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h - a sample of mam top as text: a table to read, lines for programs, or JSON.
 */
#ifndef TOOLS_TOP_OUTPUT_H
#define TOOLS_TOP_OUTPUT_H

#include <stdint.h>

#include "top/columns.h"
#include "top/model.h"

/* output_table - the rows as a table with headings; a line with the time and a blank line around. */
void output_table(const struct top_model *model, const struct top_rows *rows, uint64_t time_ms);

/* output_lines - one line per pool, after a heading if `is_first`; mam-top(1) has the columns. */
void output_lines(const struct top_model *model, uint64_t time_ms, bool is_first);

/* output_json - one object on one line. */
void output_json(const struct top_model *model, uint64_t time_ms);

#endif
