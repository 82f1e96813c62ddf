/* SPDX-License-Identifier: Apache-2.0 */
/*
 * draw_list.c - the screen with all processes: one line per GPU, then the table.
 */
#include <stdio.h>
#include <string.h>

#include "kit/format.h"
#include "top/number.h"
#include "top/view.h"

#define CURVE_MAX 60 /* columns; one per sample */
#define PROGRAM_MAX 32
#define GPU_LABEL 7
#define GPU_NUMBERS 14 /* " 1023M / 1023M" */

struct gpu_sum {
	struct mam_statpage_figures figures;
	uint64_t history[CURVE_MAX]; /* the oldest first */
};

static struct gpu_sum sums[MAM_STATPAGE_DEVICES];

static void add_history(struct gpu_sum *sum, const struct top_use *use)
{
	for (unsigned int age = 0; age < CURVE_MAX; age++)
		sum->history[CURVE_MAX - 1 - age] += top_history(use, age);
}

static void sum_gpus(const struct top_model *model)
{
	memset(sums, 0, sizeof(sums));
	for (size_t i = 0; i < model->count; i++) {
		const struct top_process *process = &model->processes[i];

		for (size_t k = 0; k < process->use_count; k++) {
			const struct top_use *use = &process->uses[k];

			if (use->gpu == TOP_NO_GPU)
				continue;
			top_add(&sums[use->gpu].figures, &use->figures);
			add_history(&sums[use->gpu], use);
		}
	}
}

static uint64_t highest_of(const uint64_t *values, int count)
{
	uint64_t highest = 0;

	for (int i = 0; i < count; i++)
		highest = values[i] > highest ? values[i] : highest;
	return highest;
}

/* Bars are comparable: all have the width of the largest GPU or, without NVML, of the fullest. */
static uint64_t whole_of_bars(const struct top_model *model)
{
	uint64_t whole = 0;

	for (int i = 0; i < model->gpu_count; i++)
		whole = model->gpus[i].total_bytes > whole ? model->gpus[i].total_bytes : whole;
	for (int gpu = 0; gpu < MAM_STATPAGE_DEVICES && model->gpu_count == 0; gpu++)
		if (sums[gpu].figures.reserved_bytes > whole)
			whole = sums[gpu].figures.reserved_bytes;
	return whole;
}

static void draw_gpu(struct frame *frame, int row, int gpu, uint64_t whole)
{
	const struct gpu_sum *sum = &sums[gpu];
	const struct frame_bar bar = { sum->figures.live_bytes, sum->figures.cached_bytes,
				       sum->figures.retired_bytes, sum->figures.reserved_bytes,
				       whole };
	int curve = (frame->columns - GPU_LABEL - GPU_NUMBERS) / 3, column;
	char text[128];

	curve = curve > CURVE_MAX ? CURVE_MAX : curve < 0 ? 0 : curve;
	snprintf(text, sizeof(text), "GPU %d", gpu);
	frame_put(frame, row, 0, GPU_LABEL, FRAME_STRONG, text);
	column = frame_put_bar(frame, row, GPU_LABEL,
			       frame->columns - GPU_LABEL - GPU_NUMBERS - 1 - curve, &bar);
	snprintf(text, sizeof(text), "%s / %s", number_bytes(sum->figures.live_bytes).text,
		 number_bytes(sum->figures.reserved_bytes).text);
	frame_put_right(frame, row, column, GPU_NUMBERS, FRAME_NORMAL, text);
	frame_put_curve(frame, row, column + GPU_NUMBERS + 1, curve,
			sum->history + CURVE_MAX - curve,
			highest_of(sum->history + CURVE_MAX - curve, curve));
}

/* At most a third of the screen. Returns the row after them. */
static int draw_gpus(struct frame *frame, int row, const struct top_model *model)
{
	int left = frame->rows / 3 - row, count = 0;
	uint64_t whole = whole_of_bars(model);
	char text[128];

	for (int gpu = 0; gpu < MAM_STATPAGE_DEVICES; gpu++)
		count += sums[gpu].figures.is_used;
	for (int gpu = 0; gpu < MAM_STATPAGE_DEVICES && count > 0; gpu++) {
		if (!sums[gpu].figures.is_used)
			continue;
		if (left <= 1 && count > 1) {
			snprintf(text, sizeof(text), "and %d more GPUs", count);
			frame_put(frame, row, GPU_LABEL, 0, FRAME_NORMAL, text);
			return row + 1;
		}
		draw_gpu(frame, row++, gpu, whole);
		left--;
		count--;
	}
	return row;
}

/* The memory that nvidia-smi shows: that of other programs, contexts and modules is in it. */
static int draw_nvml(struct frame *frame, int row, const struct top_model *model)
{
	int column;

	if (model->gpu_count == 0)
		return row;
	column = frame_put(frame, row, 0, 0, FRAME_STRONG, "NVML   ");
	for (int i = 0; i < model->gpu_count; i++) {
		char text[128];

		snprintf(text, sizeof(text), "%d: %s of %s  ", i,
			 number_bytes(model->gpus[i].used_bytes).text,
			 number_bytes(model->gpus[i].total_bytes).text);
		if (column + (int)strlen(text) > frame->columns + 2)
			break;
		column = frame_put(frame, row, column, 0, FRAME_NORMAL, text);
	}
	return row + 1;
}

static void draw_title(struct frame *frame, const struct top_view *view,
		       const struct top_model *model)
{
	struct mam_statpage_figures all = { .pools = 0 };
	int gpus = 0, column;
	char text[256];

	for (int gpu = 0; gpu < MAM_STATPAGE_DEVICES; gpu++) {
		gpus += sums[gpu].figures.is_used;
		top_add(&all, &sums[gpu].figures);
	}
	column = frame_put(frame, 0, 0, 0, FRAME_STRONG, "mam top");
	snprintf(text, sizeof(text), "  %s, %s, %s", number_processes(model->count).text,
		 format_counted((uint64_t)gpus, "GPU").text,
		 format_counted(all.pools, "pool").text);
	column = frame_put(frame, 0, column, 0, FRAME_NORMAL, text);
	snprintf(text, sizeof(text), "  live %s  reserved %s", number_bytes(all.live_bytes).text,
		 number_bytes(all.reserved_bytes).text);
	column = frame_put(frame, 0, column, 0, FRAME_NORMAL, text);
	if (view->is_paused)
		column = frame_put(frame, 0, column + 2, 0, FRAME_ALERT, "paused");
	if (model->list.skipped_count != 0) {
		snprintf(text, sizeof(text), "%s skipped",
			 format_counted(model->list.skipped_count, "invalid page").text);
		frame_put(frame, 0, column + 2, 0, FRAME_ALERT, text);
	}
}

struct layout {
	int widths[TOP_COLUMNS]; /* 0: not shown */
	int curve;               /* width; 0: not shown */
};

/* Wide screens have longer names, then curves of live bytes. */
static struct layout lay_out(int columns, bool has_nvml)
{
	struct layout layout = { .curve = 0 };
	int spare = columns + 1, name;

	for (int i = 0; i < TOP_COLUMNS; i++) {
		layout.widths[i] = top_width((enum top_column)i);
		spare -= layout.widths[i] + 1;
	}
	if (!has_nvml || spare < 0) {
		spare += layout.widths[TOP_NVML] + 1;
		layout.widths[TOP_NVML] = 0;
	}
	if (spare >= 12) {
		layout.curve = spare * 2 / 3 - 1;
		layout.curve = layout.curve > CURVE_MAX ? CURVE_MAX : layout.curve;
		spare -= layout.curve + 1;
	}
	name = layout.widths[TOP_PROGRAM] + spare;
	if (name > PROGRAM_MAX)
		name = PROGRAM_MAX;
	if (name < 8)
		name = 8;
	layout.widths[TOP_PROGRAM] = name;
	return layout;
}

static void draw_heading(struct frame *frame, int row, struct top_view *view,
			 const struct layout *layout)
{
	int column = 0;

	frame_style_row(frame, row, FRAME_HEADING);
	for (int i = 0; i < TOP_COLUMNS; i++) {
		enum frame_style style =
			i == (int)view->order.column ? FRAME_SORTED : FRAME_HEADING;

		view->starts[i] = layout->widths[i] == 0 ? -1 : column;
		if (layout->widths[i] == 0)
			continue;
		if (top_is_text((enum top_column)i))
			frame_put(frame, row, column, layout->widths[i], style,
				  top_heading((enum top_column)i));
		else
			frame_put_right(frame, row, column, layout->widths[i], style,
					top_heading((enum top_column)i));
		column += layout->widths[i] + 1;
	}
	if (layout->curve != 0)
		frame_put(frame, row, column, layout->curve, FRAME_HEADING, "HISTORY");
}

static enum frame_style style_of(const struct top_row *row, enum top_column column)
{
	if (column == TOP_FAILURES && top_figures(row)->failures != 0)
		return FRAME_ALERT;
	if (column == TOP_PROGRAM && row->pool == NULL)
		return FRAME_STRONG;
	return column == TOP_LIVE ? FRAME_LIVE : FRAME_NORMAL;
}

static void draw_row(struct frame *frame, int at, const struct top_row *row,
		     const struct layout *layout)
{
	uint64_t history[CURVE_MAX];
	int column = 0;

	for (int i = 0; i < TOP_COLUMNS; i++) {
		enum top_column number = (enum top_column)i;
		struct format_text cell = top_cell(row, number);

		if (layout->widths[i] == 0)
			continue;
		if (top_is_text(number))
			frame_put(frame, at, column, layout->widths[i], style_of(row, number),
				  cell.text);
		else
			frame_put_right(frame, at, column, layout->widths[i], style_of(row, number),
					cell.text);
		column += layout->widths[i] + 1;
	}
	if (layout->curve == 0 || row->pool != NULL)
		return;
	for (int i = 0; i < layout->curve; i++)
		history[i] = top_history(row->use, (unsigned int)(layout->curve - 1 - i));
	frame_put_curve(frame, at, column, layout->curve, history,
			highest_of(history, layout->curve));
}

/* Scrolls by as little as shows the selected row, and leaves no row blank. */
static void scroll(struct top_view *view, size_t count)
{
	size_t room = view->body_rows > 0 ? (size_t)view->body_rows : 1;

	if (view->selected < view->first)
		view->first = view->selected;
	if (view->selected >= view->first + room)
		view->first = view->selected - room + 1;
	if (view->first + room > count)
		view->first = count > room ? count - room : 0;
}

void top_draw_list(struct frame *frame, struct top_view *view, const struct top_model *model,
		   const struct top_rows *rows)
{
	struct layout layout = lay_out(frame->columns, model->gpu_count != 0);

	sum_gpus(model);
	draw_title(frame, view, model);
	view->heading_row = draw_nvml(frame, draw_gpus(frame, 1, model), model);
	view->body_rows = frame->rows - 2 - view->heading_row;
	draw_heading(frame, view->heading_row, view, &layout);
	scroll(view, rows->count);
	for (int i = 0; i < view->body_rows && view->first + (size_t)i < rows->count; i++) {
		size_t index = view->first + (size_t)i;
		int at = view->heading_row + 1 + i;

		draw_row(frame, at, &rows->rows[index], &layout);
		if (index == view->selected)
			frame_style_row(frame, at, FRAME_SELECTED);
	}
	if (rows->count == 0)
		frame_put(frame, view->heading_row + 2, 2, 0, FRAME_NORMAL,
			  "No process of this user uses mam.");
}
