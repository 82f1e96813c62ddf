/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns.c - see columns.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* qsort_r */
#endif
#include "top/columns.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/message.h"
#include "top/number.h"

static const struct {
	const char *heading;
	int width;
	const char *explanation;
} columns[TOP_COLUMNS] = {
	[TOP_PID] = { "PID", 7, "process ID" },
	[TOP_PROGRAM] = { "PROGRAM", 12, "program, with the rank of a parallel one; or pool" },
	[TOP_GPU] = { "GPU", 3, "number of the GPU in that process" },
	[TOP_LIVE] = { "LIVE", 5, "bytes that the program has allocated" },
	[TOP_CACHED] = { "CACHED", 6, "free bytes in caches of threads" },
	[TOP_RETIRED] = { "RETIRED", 7, "freed bytes that the GPU may still access" },
	[TOP_RESERVED] = { "RESERVED", 8, "bytes that the pools hold from the driver" },
	[TOP_PEAK] = { "PEAK", 5, "peak live bytes" },
	[TOP_RATE] = { "ALLOC/S", 7, "allocations per second" },
	[TOP_FAILURES] = { "FAIL", 5, "allocations that failed" },
	[TOP_DRIVER] = { "DRIVER", 6, "time in calls of the driver" },
	[TOP_NVML] = { "NVML", 5, "bytes of the process, as nvidia-smi shows" },
};

const char *top_heading(enum top_column column)
{
	return columns[column].heading;
}

const char *top_explanation(enum top_column column)
{
	return columns[column].explanation;
}

int top_width(enum top_column column)
{
	return columns[column].width;
}

bool top_is_text(enum top_column column)
{
	return column == TOP_PROGRAM;
}

const struct mam_statpage_figures *top_figures(const struct top_row *row)
{
	return row->pool != NULL ? &row->pool->figures : &row->use->figures;
}

double top_rate(const struct top_row *row)
{
	return row->pool != NULL ? row->pool->alloc_rate : row->use->alloc_rate;
}

/* Longer names are cut: the struct has 39 characters. */
static struct format_text name_of(const struct top_row *row)
{
	const struct top_process *process = row->process;
	struct format_text out;

	if (row->pool != NULL)
		snprintf(out.text, sizeof(out.text), "  %.29s%s", row->pool->name,
			 row->pool->has_ended ? " (ended)" : "");
	else if (process->rank != 0)
		snprintf(out.text, sizeof(out.text), "%.18s %llu", process->program,
			 (unsigned long long)process->rank - 1);
	else
		snprintf(out.text, sizeof(out.text), "%.39s", process->program);
	return out;
}

static uint64_t bytes_of(const struct mam_statpage_figures *figures, enum top_column column)
{
	switch (column) {
	case TOP_LIVE: return figures->live_bytes;
	case TOP_CACHED: return figures->cached_bytes;
	case TOP_RETIRED: return figures->retired_bytes;
	case TOP_RESERVED: return figures->reserved_bytes;
	default: return figures->peak_live_bytes;
	}
}

struct format_text top_cell(const struct top_row *row, enum top_column column)
{
	const struct mam_statpage_figures *figures = top_figures(row);
	struct format_text none = { "-" };

	switch (column) {
	case TOP_PID: return format_plain((uint64_t)row->process->pid);
	case TOP_PROGRAM: return name_of(row);
	case TOP_GPU:
		return row->use->gpu == TOP_NO_GPU ? none : format_plain((uint64_t)row->use->gpu);
	case TOP_RATE: return number_rate(top_rate(row));
	case TOP_FAILURES: return number_rate((double)figures->failures);
	case TOP_DRIVER: return number_time(figures->driver_ns);
	case TOP_NVML:
		return row->pool != NULL || row->use->nvml_bytes == TOP_NO_BYTES
			       ? none
			       : number_bytes(row->use->nvml_bytes);
	default: return number_bytes(bytes_of(figures, column));
	}
}

static int compare_numbers(double a, double b)
{
	return (a > b) - (a < b);
}

static double value_of(const struct top_row *row, enum top_column column)
{
	const struct mam_statpage_figures *figures = top_figures(row);

	switch (column) {
	case TOP_PID: return row->process->pid;
	case TOP_GPU: return row->use->gpu;
	case TOP_RATE: return top_rate(row);
	case TOP_FAILURES: return (double)figures->failures;
	case TOP_DRIVER: return (double)figures->driver_ns;
	case TOP_NVML:
		return row->use->nvml_bytes == TOP_NO_BYTES ? -1 : (double)row->use->nvml_bytes;
	default: return (double)bytes_of(figures, column);
	}
}

/* In the order of the list: rows that are equal keep it, so they do not jump. */
static int compare_places(const struct top_row *a, const struct top_row *b)
{
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->use != b->use)
		return a->use < b->use ? -1 : 1;
	return a->pool < b->pool ? -1 : a->pool > b->pool;
}

static int compare_columns(const struct top_row *a, const struct top_row *b,
			   const struct top_order *order)
{
	int result;

	if (order->column == TOP_PROGRAM)
		result = strcmp(name_of(a).text, name_of(b).text);
	else if (order->column == TOP_PID || order->column == TOP_GPU)
		result = compare_numbers(value_of(a, order->column), value_of(b, order->column));
	else
		result = compare_numbers(value_of(b, order->column), value_of(a, order->column));
	return order->is_inverted ? -result : result;
}

static int compare_rows(const void *one, const void *other, void *argument)
{
	const struct top_order *order = (const struct top_order *)argument;
	const struct top_row *a = (const struct top_row *)one;
	const struct top_row *b = (const struct top_row *)other;
	struct top_row a_use = *a, b_use = *b;
	int result;

	a_use.pool = b_use.pool = NULL;
	if (a->use == b->use && (a->pool == NULL || b->pool == NULL))
		return (a->pool != NULL) - (b->pool != NULL);
	if (a->use == b->use)
		result = compare_columns(a, b, order);
	else
		result = compare_columns(&a_use, &b_use, order);
	return result != 0 ? result : compare_places(a, b);
}

static size_t count_rows(const struct top_model *model, bool with_pools)
{
	size_t count = 0;

	for (size_t i = 0; i < model->count; i++)
		count += model->processes[i].use_count +
			 (with_pools ? model->processes[i].pool_count : 0);
	return count;
}

static void add_rows(struct top_rows *rows, const struct top_process *process, bool with_pools)
{
	for (size_t i = 0; i < process->use_count; i++) {
		const struct top_use *use = &process->uses[i];

		rows->rows[rows->count++] = (struct top_row){ process, use, NULL };
		for (size_t k = 0; k < process->pool_count && with_pools; k++)
			if (process->pools[k].gpu == use->gpu)
				rows->rows[rows->count++] =
					(struct top_row){ process, use, &process->pools[k] };
	}
}

bool top_rows_build(struct top_rows *rows, const struct top_model *model,
		    const struct top_order *order)
{
	struct top_order by = *order;

	rows->count = 0;
	rows->rows = (struct top_row *)malloc((count_rows(model, order->with_pools) + 1) *
					      sizeof(*rows->rows));
	if (rows->rows == NULL) {
		message_error("out of memory");
		return false;
	}
	for (size_t i = 0; i < model->count; i++)
		add_rows(rows, &model->processes[i], order->with_pools);
	qsort_r(rows->rows, rows->count, sizeof(*rows->rows), compare_rows, &by);
	return true;
}

void top_rows_fini(struct top_rows *rows)
{
	free(rows->rows);
	rows->rows = NULL;
	rows->count = 0;
}
