/* SPDX-License-Identifier: Apache-2.0 */
/*
 * draw_process.c - the screen with one process: its GPUs, its pools with all figures of the page,
 * and what mam run counts of calls and of memory that belongs to no pool.
 *
 * Lines are numbered from 0; those that are scrolled away are outside of the frame, which ignores
 * them.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "kit/format.h"
#include "top/heap.h"
#include "top/number.h"
#include "top/view.h"

#define LABEL 9
#define HEAP_ROWS 3
#define CELLS_MAX 4096
#define ORIGINS_MAX 9 /* rows */

static const char *const kinds[MAM_STATPAGE_KINDS] = {
	"chunks of pools", "cudaMalloc", "stream-ordered", "managed",
	"physical",        "graphs",     "arrays",         "pinned host",
};
static const char *const fates[MAM_STATPAGE_FATES] = { "served", "forwarded", "failed" };

static struct mam_statpage page; /* of the process that is shown */

/* Where the next line is, and the part of the frame that scrolls. */
struct place {
	struct frame *frame;
	int row, top, end;
};

static int row_of(const struct place *place)
{
	return place->row >= place->top && place->row < place->end ? place->row : -1;
}

static void put_line(struct place *place, int column, enum frame_style style, const char *text)
{
	frame_put(place->frame, row_of(place), column, 0, style, text);
	place->row++;
}

static void put_bar(struct place *place, const char *label,
		    const struct mam_statpage_figures *figures, uint64_t whole)
{
	const struct frame_bar bar = { figures->live_bytes, figures->cached_bytes,
				       figures->retired_bytes, figures->reserved_bytes, whole };

	frame_put(place->frame, row_of(place), 0, LABEL - 1, FRAME_STRONG, label);
	frame_put_bar(place->frame, row_of(place), LABEL, place->frame->columns - LABEL, &bar);
	place->row++;
}

static void put_figures(struct place *place, const struct mam_statpage_figures *figures,
			double rate)
{
	char text[256];

	snprintf(text, sizeof(text), "live     %-6s in %s, peak %s",
		 number_bytes(figures->live_bytes).text,
		 format_counted(figures->live_blocks, "block").text,
		 number_bytes(figures->peak_live_bytes).text);
	put_line(place, LABEL, FRAME_NORMAL, text);
	snprintf(text, sizeof(text), "reserved %-6s peak %s; cached %s; retired %s, peak %s",
		 number_bytes(figures->reserved_bytes).text,
		 number_bytes(figures->peak_reserved_bytes).text,
		 number_bytes(figures->cached_bytes).text,
		 number_bytes(figures->retired_bytes).text,
		 number_bytes(figures->peak_retired_bytes).text);
	put_line(place, LABEL, FRAME_NORMAL, text);
	snprintf(text, sizeof(text), "%s, %s per second; %s; %s",
		 format_counted(figures->allocs, "allocation").text, number_rate(rate).text,
		 format_counted(figures->frees, "free").text,
		 format_counted(figures->failures, "failure").text);
	put_line(place, LABEL, figures->failures != 0 ? FRAME_ALERT : FRAME_NORMAL, text);
	snprintf(text, sizeof(text), "%s in %s",
		 format_counted(figures->driver_calls, "driver call").text,
		 number_time(figures->driver_ns).text);
	put_line(place, LABEL, FRAME_NORMAL, text);
}

/* Full characters are ranges that are in use, and blanks are free. */
static void put_heap(struct place *place, int gpu)
{
	static uint64_t cells[CELLS_MAX];
	int width = place->frame->columns - LABEL;
	struct top_strip strip;
	char text[256];

	width = width > CELLS_MAX / HEAP_ROWS ? CELLS_MAX / HEAP_ROWS : width;
	if (width <= 0 || !top_heap_strip(gpu, cells, (size_t)width * HEAP_ROWS, &strip))
		return;
	frame_put(place->frame, row_of(place), 0, LABEL - 1, FRAME_NORMAL, "heap");
	for (int row = 0; row < HEAP_ROWS; row++) {
		frame_put_curve(place->frame, row_of(place), LABEL, width,
				cells + (size_t)row * (size_t)width, strip.cell_bytes);
		place->row++;
	}
	snprintf(text, sizeof(text), "by address, %s per character; %s; largest free %s",
		 number_bytes(strip.cell_bytes).text, format_counted(strip.chunks, "chunk").text,
		 number_bytes(strip.largest_free_bytes).text);
	put_line(place, LABEL, FRAME_NORMAL, text);
}

/* Names may be cut, so their figures come first. */
static void put_origins(struct place *place, int gpu)
{
	struct top_origin origins[ORIGINS_MAX];
	size_t count = top_heap_origins(gpu, origins, ORIGINS_MAX);
	char text[512];

	if (count != 0)
		frame_put(place->frame, row_of(place), 0, LABEL - 1, FRAME_NORMAL, "held by");
	for (size_t i = 0; i < count; i++) {
		const char *name = origins[i].name;

		snprintf(text, sizeof(text), "%-6s in %s, %s", number_bytes(origins[i].bytes).text,
			 format_counted(origins[i].blocks, "block").text,
			 name == NULL ? "others" : name);
		put_line(place, LABEL, FRAME_NORMAL, text);
	}
}

/* Estimates; names may be cut here, too. */
static void put_sites(struct place *place, const struct top_use *use)
{
	uint64_t unsampled = top_unsampled(use);
	char text[512];

	if (use->site_count == 0 && unsampled == 0)
		return;
	frame_put(place->frame, row_of(place), 0, LABEL - 1, FRAME_NORMAL, "sites");
	for (size_t i = 0; i < use->site_count; i++) {
		const struct mam_statpage_holder *site = &use->sites[i];

		snprintf(text, sizeof(text), "%-6s %s%-5s in %s, %s",
			 number_bytes(site->bytes).text, place->frame->is_utf8 ? "\u00b1" : "+-",
			 number_bytes(site->error).text, format_counted(site->blocks, "block").text,
			 site->name[0] == '\0' ? "others" : site->name);
		put_line(place, LABEL, FRAME_NORMAL, text);
	}
	if (unsampled == 0)
		return;
	snprintf(text, sizeof(text), "%-6s allocated before sampling began at %s",
		 number_bytes(unsampled).text, number_moment(use->sites_since).text);
	put_line(place, LABEL, FRAME_NORMAL, text);
}

static void put_use(struct place *place, const struct top_use *use, uint64_t whole)
{
	static uint64_t history[TOP_HISTORY];
	int width = place->frame->columns - LABEL;
	uint64_t highest = 0;
	char text[256];

	width = width > TOP_HISTORY ? TOP_HISTORY : width < 0 ? 0 : width;
	if (use->gpu == TOP_NO_GPU) {
		put_line(place, 0, FRAME_NORMAL, "The process has no pools.");
		return;
	}
	snprintf(text, sizeof(text), "GPU %d", use->gpu);
	put_bar(place, text, &use->figures, whole);
	for (int i = 0; i < width; i++) {
		history[i] = top_history(use, (unsigned int)(width - 1 - i));
		highest = history[i] > highest ? history[i] : highest;
	}
	frame_put(place->frame, row_of(place), 0, LABEL - 1, FRAME_NORMAL, "history");
	frame_put_curve(place->frame, row_of(place), LABEL, width, history, highest);
	place->row++;
	put_figures(place, &use->figures, use->alloc_rate);
	put_heap(place, use->gpu);
	put_origins(place, use->gpu);
	put_sites(place, use);
	if (use->nvml_bytes == TOP_NO_BYTES)
		return;
	snprintf(text, sizeof(text), "nvidia-smi shows %s: %s besides these pools",
		 number_bytes(use->nvml_bytes).text,
		 number_bytes(use->nvml_bytes > use->figures.reserved_bytes
				      ? use->nvml_bytes - use->figures.reserved_bytes
				      : 0)
			 .text);
	put_line(place, LABEL, FRAME_NORMAL, text);
}

static void put_pool(struct place *place, const struct top_pool *pool, uint64_t whole)
{
	char text[256];

	place->row++;
	snprintf(text, sizeof(text), "pool %s, source %s, GPU %d%s", pool->name, pool->source,
		 pool->gpu, pool->has_ended ? ", ended" : "");
	put_line(place, 0, FRAME_STRONG, text);
	put_bar(place, "", &pool->figures, whole);
	put_figures(place, &pool->figures, pool->alloc_rate);
}

static uint64_t get(const mam_statpage_word *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

static void put_calls(struct place *place)
{
	char text[256] = "";
	uint64_t all = 0;

	for (int fate = 0; fate < MAM_STATPAGE_FATES; fate++) {
		uint64_t calls = 0;
		size_t used = strlen(text);

		for (int i = 0; i < MAM_STATPAGE_CALLERS; i++)
			for (int device = 0; device <= MAM_STATPAGE_DEVICES; device++)
				calls += get(&page.callers[i].devices[device].calls[fate]);
		snprintf(text + used, sizeof(text) - used, "%s%s %s", fate == 0 ? "" : ", ",
			 format_count(calls).text, fates[fate]);
		all += calls;
	}
	if (all == 0)
		return;
	place->row++;
	put_line(place, 0, FRAME_STRONG, "calls that mam run intercepted");
	put_line(place, LABEL, FRAME_NORMAL, text);
}

static void put_account(struct place *place, int gpu)
{
	const struct mam_statpage_device *device = &page.devices[gpu];
	bool has_title = false;
	char text[256];

	for (int kind = 0; kind < MAM_STATPAGE_KINDS; kind++) {
		if (get(&device->peak[kind]) == 0)
			continue;
		snprintf(text, sizeof(text), "memory that mam run counts on GPU %d", gpu);
		if (!has_title) {
			place->row++;
			put_line(place, 0, FRAME_STRONG, text);
		}
		has_title = true;
		snprintf(text, sizeof(text), "%-16s %-6s peak %s", kinds[kind],
			 number_bytes(get(&device->now[kind])).text,
			 number_bytes(get(&device->peak[kind])).text);
		put_line(place, LABEL, FRAME_NORMAL, text);
	}
	if (!has_title || get(&device->peak_together) == 0)
		return;
	snprintf(text, sizeof(text), "%-16s %-6s peak %s", "under --limit",
		 number_bytes(get(&device->together)).text,
		 number_bytes(get(&device->peak_together)).text);
	put_line(place, LABEL, FRAME_NORMAL, text);
}

static const struct top_process *find(const struct top_model *model, const struct top_place *at)
{
	for (size_t i = 0; i < model->count; i++) {
		const struct top_process *process = &model->processes[i];

		if (process->pid == at->pid && process->start == at->start &&
		    process->copy == at->copy)
			return process;
	}
	return NULL;
}

static bool read_page(const struct top_model *model, const struct top_process *process)
{
	for (size_t i = 0; i < model->list.count; i++) {
		const struct page_entry *entry = &model->list.entries[i];

		if (entry->pid == process->pid && entry->start == process->start &&
		    entry->copy == process->copy)
			return page_read(entry->path, &page);
	}
	return false;
}

/* Bars of one process are comparable: the width is the largest of them. */
static uint64_t whole_of_bars(const struct top_process *process)
{
	uint64_t whole = 0;

	for (size_t i = 0; i < process->use_count; i++)
		if (process->uses[i].figures.reserved_bytes > whole)
			whole = process->uses[i].figures.reserved_bytes;
	return whole;
}

static void put_process(struct place *place, const struct top_model *model,
			const struct top_process *process)
{
	uint64_t whole = whole_of_bars(process);

	for (size_t i = 0; i < process->use_count; i++)
		put_use(place, &process->uses[i], whole);
	for (size_t i = 0; i < process->pool_count; i++)
		put_pool(place, &process->pools[i], whole);
	if (!read_page(model, process))
		return;
	put_calls(place);
	for (int gpu = 0; gpu < MAM_STATPAGE_DEVICES; gpu++)
		put_account(place, gpu);
}

static void put_title(struct frame *frame, const struct top_view *view,
		      const struct top_process *process)
{
	char text[256];
	int column;

	snprintf(text, sizeof(text), "%s  process %ld", process->program, (long)process->pid);
	if (process->rank != 0)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), ", rank %" PRIu64,
			 process->rank - 1);
	column = frame_put(frame, 0, 0, 0, FRAME_STRONG, text);
	if (view->is_paused)
		frame_put(frame, 0, column + 2, 0, FRAME_ALERT, "paused");
	column = frame_put(frame, 1, LABEL + 1, 0, FRAME_LIVE, "|");
	column = frame_put(frame, 1, column, 0, FRAME_NORMAL, " live  ");
	column = frame_put(frame, 1, column, 0, FRAME_CACHED, ":");
	column = frame_put(frame, 1, column, 0, FRAME_NORMAL, " cached  ");
	column = frame_put(frame, 1, column, 0, FRAME_RETIRED, ".");
	frame_put(frame, 1, column, 0, FRAME_NORMAL, " retired  - free, reserved");
}

void top_draw_process(struct frame *frame, struct top_view *view, const struct top_model *model,
		      const struct top_rows *rows)
{
	const struct top_process *process = find(model, &view->place);
	struct place place = { frame, 0, 2, frame->rows - 1 };
	int beyond;

	(void)rows;
	view->heading_row = 1;
	view->body_rows = frame->rows - 3;
	if (process == NULL) {
		frame_put(frame, 0, 0, 0, FRAME_STRONG, "The process has ended.");
		return;
	}
	put_title(frame, view, process);
	place.row = place.top - view->scrolled;
	put_process(&place, model, process);
	beyond = place.end - place.row;
	if (beyond <= 0 || view->scrolled == 0)
		return;
	/* Scrolled beyond the end: as far as shows the last line. */
	view->scrolled = view->scrolled > beyond ? view->scrolled - beyond : 0;
	for (int row = place.top; row < place.end; row++)
		for (int i = 0; i < frame->columns; i++)
			frame->cells[row * frame->columns + i] =
				(struct frame_cell){ " ", FRAME_NORMAL };
	place.row = place.top - view->scrolled;
	put_process(&place, model, process);
}
