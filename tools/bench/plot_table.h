/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot_table.h - the available line figures, and the allocators in them with their labels and
 * colors.
 */
#ifndef MAM_TOOLS_BENCH_PLOT_TABLE_H
#define MAM_TOOLS_BENCH_PLOT_TABLE_H

#include <stddef.h>

#define PLOT_GROUPS_MAX 3
#define PLOT_NAMES_MAX 21

/*
 * An allocator of a figure with its label and color; the first of `peers` that has a row is used.
 */
struct plot_drawn {
	const char *label, *color;
	const char *peers[4];
	const char *unless; /* omitted if this one has a row */
};

/* One metric over `names`, the workload's parameters; or, with a parameter, the metrics `names`. */
struct plot_group {
	const char *label; /* NULL: the only one */
	const char *metric, *parameter;
	const char *names[PLOT_NAMES_MAX];
	const char *shown[PLOT_NAMES_MAX]; /* in place of names; NULL: those */
};

struct plot_figure {
	const char *file;
	const char *title, *subtitle, *up, *axis;
	const char *workload;
	const struct plot_drawn *who;
	size_t who_count;
	struct plot_group groups[PLOT_GROUPS_MAX];
};

extern const struct plot_figure plot_figures[];
extern const size_t plot_line_figures; /* count */
/* Those of mam bench model follow them, then those of mam bench case. */
extern const struct plot_figure plot_model_figures[], plot_case_figures[];
extern const size_t plot_model_figure_count, plot_case_figure_count;

/* The allocators in the figure of held memory. */
extern const struct plot_drawn plot_holders[];
extern const size_t plot_holder_count;

#endif
