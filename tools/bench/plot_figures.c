/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot_figures.c - makes the figures of plot_table.c, and that of held memory, from the available
 * rows.
 *
 * A line figure has a few groups of points; each group is one metric of one workload over its
 * parameters, or several metrics at one parameter. The bar figure has memory held in excess of live
 * memory. Values without a row are not drawn, and a figure without any is omitted.
 */
#include <string.h>

#include "plot.h"
#include "plot_rows.h"
#include "plot_table.h"

static size_t count_lines(void)
{
	return plot_line_figures + plot_model_figure_count + plot_case_figure_count;
}

static const struct plot_figure *figure_at(size_t which)
{
	if (which < plot_line_figures)
		return &plot_figures[which];
	which -= plot_line_figures;
	if (which < plot_model_figure_count)
		return &plot_model_figures[which];
	return &plot_case_figures[which - plot_model_figure_count];
}

/* Of the alternatives for one allocator, the first that took part; NULL: none did. */
static const char *peer_of(const struct plot_rows *rows, const struct plot_drawn *one,
			   const char *workload, const char *parameter)
{
	size_t i;

	if (one->unless != NULL && plot_rows_has(rows, workload, one->unless, parameter))
		return NULL;
	for (i = 0; i < sizeof(one->peers) / sizeof(one->peers[0]); i++) {
		if (one->peers[i] != NULL &&
		    plot_rows_has(rows, workload, one->peers[i], parameter))
			return one->peers[i];
	}
	return NULL;
}

/* One allocator's points; returns false if it has none. */
static bool collect_line(const struct plot_rows *rows, const struct plot_figure *figure,
			 const char *peer, struct plot_line *line)
{
	size_t group, name, point = 0;
	bool any = false;

	for (group = 0; group < PLOT_GROUPS_MAX; group++) {
		const struct plot_group *one = &figure->groups[group];

		for (name = 0; name < PLOT_NAMES_MAX && one->names[name] != NULL; name++, point++) {
			bool metrics = one->parameter != NULL;

			line->values[point] =
				plot_rows_value(rows, figure->workload, peer,
						metrics ? one->parameter : one->names[name],
						metrics ? one->names[name] : one->metric);
			any = any || line->values[point] > 0;
		}
	}
	return any;
}

static void name_points(const struct plot_figure *figure, struct plot_lines *plot)
{
	size_t group, name;

	for (group = 0; group < PLOT_GROUPS_MAX; group++) {
		const struct plot_group *one = &figure->groups[group];

		for (name = 0; name < PLOT_NAMES_MAX && one->names[name] != NULL; name++) {
			const char *shown = one->shown[name];

			plot->names[plot->points] = shown != NULL ? shown : one->names[name];
			plot->groups[plot->points++] = one->label;
		}
	}
}

/* Drops points without any value, so that cases that were not run take no space. */
static void drop_empty_points(struct plot_lines *plot)
{
	size_t from, to = 0, i;

	for (from = 0; from < plot->points; from++) {
		bool any = false;

		for (i = 0; i < plot->count; i++)
			any = any || plot->lines[i].values[from] > 0;
		if (!any)
			continue;
		plot->names[to] = plot->names[from];
		plot->groups[to] = plot->groups[from];
		for (i = 0; i < plot->count; i++)
			plot->lines[i].values[to] = plot->lines[i].values[from];
		to++;
	}
	plot->points = to;
}

static void collect_lines(const struct plot_rows *rows, const struct plot_figure *figure,
			  struct plot_lines *plot)
{
	const char *last = NULL; /* so that no allocator is drawn twice under two names */
	size_t i;

	*plot = (struct plot_lines){ .title = figure->title,
				     .subtitle = figure->subtitle,
				     .up = figure->up,
				     .axis = figure->axis };
	name_points(figure, plot);
	for (i = 0; i < figure->who_count && plot->count < PLOT_LINES_MAX; i++) {
		const struct plot_drawn *one = &figure->who[i];
		const char *peer = peer_of(rows, one, figure->workload, NULL);
		struct plot_line *line = &plot->lines[plot->count];

		*line = (struct plot_line){ .label = one->label, .color = one->color };
		if (peer == NULL || peer == last || (last != NULL && strcmp(peer, last) == 0) ||
		    !collect_line(rows, figure, peer, line))
			continue;
		last = peer;
		plot->count++;
	}
	drop_empty_points(plot);
}

/* Percent in excess of live memory; of physical memory if that differs from addresses. */
static void add_bars(const struct plot_rows *rows, const char *workload, const char *parameter,
		     const char *group, struct plot_bars *plot)
{
	size_t i;

	for (i = 0; i < plot_holder_count && plot->count < PLOT_BARS_MAX; i++) {
		const char *peer = peer_of(rows, &plot_holders[i], workload, parameter);
		double ratio;

		if (peer == NULL)
			continue;
		ratio = plot_rows_value(rows, workload, peer, parameter, "physical_ratio");
		if (ratio <= 0)
			ratio = plot_rows_value(rows, workload, peer, parameter, "reserved_ratio");
		if (ratio > 0)
			plot->bars[plot->count++] = (struct plot_bar){
				group,
				plot_holders[i].label,
				plot_holders[i].color,
				ratio > 1 ? (ratio - 1) * 100 : 0,
			};
	}
}

/* Each trace of workload replay is a group; it is added at its first row. */
static void add_replays(const struct plot_rows *rows, struct plot_bars *plot)
{
	size_t i, before;

	for (i = 0; i < rows->count; i++) {
		const char *trace = rows->rows[i].fields[2];

		if (strcmp(rows->rows[i].fields[0], "replay") != 0)
			continue;
		for (before = 0; before < i; before++) {
			if (strcmp(rows->rows[before].fields[0], "replay") == 0 &&
			    strcmp(rows->rows[before].fields[2], trace) == 0)
				break;
		}
		if (before == i)
			add_bars(rows, "replay", trace, trace, plot);
	}
}

static void collect_bars(const struct plot_rows *rows, struct plot_bars *plot)
{
	*plot = (struct plot_bars){
		.title = "Memory held beyond what was in use",
		.subtitle = "peak held over peak live, per cent more; less is better",
		.unit = "%",
	};
	add_bars(rows, "training", "growing", "a made-up training run, 33.6 GiB live", plot);
	add_replays(rows, plot);
}

/* The bar figure follows the line figures. */
size_t plot_figure_count(void)
{
	return count_lines() + 1;
}

const char *plot_figure_file(size_t which)
{
	return which < count_lines() ? figure_at(which)->file : "footprint.svg";
}

/*
 * One figure `down` from the top of a page, without a frame of its own. Returns its height; 0: no
 * row to draw. With file NULL, only checks.
 */
static double put_figure(size_t which, const struct plot_rows *rows, double down, FILE *file)
{
	struct plot_lines lines;
	struct plot_bars bars;
	bool of_lines = which < count_lines();

	if (of_lines)
		collect_lines(rows, figure_at(which), &lines);
	else
		collect_bars(rows, &bars);
	if ((of_lines ? lines.count : bars.count) == 0)
		return 0;
	if (file != NULL) {
		fprintf(file, "<g transform=\"translate(0 %.0f)\">\n", down);
		if (of_lines)
			plot_lines_draw(file, &lines);
		else
			plot_bars_draw(file, &bars);
		fputs("</g>\n", file);
	}
	return of_lines ? plot_lines_height(&lines) : plot_bars_height(&bars);
}

/* Figures first to end - 1, the available ones, one below another. */
static bool put_page(size_t first, size_t end, const char *title, const struct plot_rows *rows,
		     FILE *file)
{
	double height = 0, down = 0;
	char footnote[512];
	size_t which;

	for (which = first; which < end; which++)
		height += put_figure(which, rows, 0, NULL);
	if (height <= 0 || file == NULL)
		return height > 0;
	plot_rows_footnote(rows, footnote, sizeof(footnote));
	height += PLOT_FOOT;
	plot_svg_begin(file, title, height);
	for (which = first; which < end; which++)
		down += put_figure(which, rows, down, file);
	plot_svg_end(file, height, footnote);
	return true;
}

bool plot_figure_draw(size_t which, const struct plot_rows *rows, FILE *file)
{
	const char *title = which < count_lines() ? figure_at(which)->title
						  : "Memory held beyond what was in use";

	return put_page(which, which + 1, title, rows, file);
}

bool plot_figure_page(const struct plot_rows *rows, FILE *file)
{
	return put_page(0, plot_figure_count(), "The cost of allocators", rows, file);
}
