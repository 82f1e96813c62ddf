/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns.h - the columns of mam top's table, and the order of its rows.
 */
#ifndef TOOLS_TOP_COLUMNS_H
#define TOOLS_TOP_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "kit/format.h"
#include "top/model.h"

enum top_column {
	TOP_PID,
	TOP_PROGRAM,
	TOP_GPU,
	TOP_LIVE,
	TOP_CACHED,
	TOP_RETIRED,
	TOP_RESERVED,
	TOP_PEAK,
	TOP_RATE,
	TOP_FAILURES,
	TOP_DRIVER,
	TOP_NVML, /* only if NVML is available */
	TOP_COLUMNS
};

/* A process on one GPU or, if `pool` is not NULL, one of its pools there. */
struct top_row {
	const struct top_process *process;
	const struct top_use *use;
	const struct top_pool *pool;
};

struct top_order {
	enum top_column column;
	bool is_inverted;
	bool with_pools; /* rows of pools follow those of their process */
};

struct top_rows {
	struct top_row *rows;
	size_t count;
};

const char *top_heading(enum top_column column);     /* "RESERVED" */
const char *top_explanation(enum top_column column); /* "bytes of device memory that ..." */
int top_width(enum top_column column);               /* TOP_PROGRAM: its minimum */
bool top_is_text(enum top_column column);            /* flush left */

/* The text of one cell. */
struct format_text top_cell(const struct top_row *row, enum top_column column);

/* The figures and the rate of a row. */
const struct mam_statpage_figures *top_figures(const struct top_row *row);
double top_rate(const struct top_row *row);

/*
 * top_rows_build - the rows of a sample in their order, numbers from the largest and texts from the
 * first. They point into the model, and are valid until its next sample. False: out of memory
 * (reported). top_rows_fini - free them.
 */
bool top_rows_build(struct top_rows *rows, const struct top_model *model,
		    const struct top_order *order);
void top_rows_fini(struct top_rows *rows);

#endif
