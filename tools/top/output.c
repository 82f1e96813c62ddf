/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.c - see output.h.
 */
#include "top/output.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "kit/json_put.h"
#include "top/number.h"

/* ---- a table ---- */

static int width_of(const struct top_rows *rows, enum top_column column)
{
	int width = top_width(column);

	for (size_t i = 0; i < rows->count; i++) {
		int length = (int)strlen(top_cell(&rows->rows[i], column).text);

		width = length > width ? length : width;
	}
	return width;
}

static void put_cell(enum top_column column, int width, const char *text)
{
	printf("%s%*s", column == 0 ? "" : "  ", top_is_text(column) ? -width : width, text);
}

static void put_site(const char *bytes, const char *error, const char *blocks, const char *name)
{
	printf("%9s  %7s  %9s  %s\n", bytes, error, blocks, name);
}

static void put_sites(const struct top_process *process, const struct top_use *use)
{
	uint64_t unsampled = top_unsampled(use);

	if (use->site_count == 0 && unsampled == 0)
		return;
	printf("call sites of %s, process %ld, GPU %d, sampled since %s\n", process->program,
	       (long)process->pid, use->gpu, number_moment(use->sites_since).text);
	put_site("LIVE", "+/-", "BLOCKS", "CALL SITE");
	for (size_t i = 0; i < use->site_count; i++) {
		const struct mam_statpage_holder *site = &use->sites[i];

		put_site(number_bytes(site->bytes).text, number_bytes(site->error).text,
			 format_count(site->blocks).text,
			 site->name[0] == '\0' ? "(others)" : site->name);
	}
	if (unsampled != 0)
		put_site(number_bytes(unsampled).text, "", "", "(allocated before)");
	putchar('\n');
}

void output_table(const struct top_model *model, const struct top_rows *rows, uint64_t time_ms)
{
	int shown = model->gpu_count != 0 ? TOP_COLUMNS : TOP_NVML, widths[TOP_COLUMNS];
	time_t seconds = (time_t)(time_ms / 1000);
	char text[32] = "";
	struct tm local;

	if (localtime_r(&seconds, &local) != NULL)
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
	printf("%s, %s\n", text, number_processes(model->count).text);
	for (int i = 0; i < shown; i++)
		widths[i] = width_of(rows, (enum top_column)i);
	for (int i = 0; i < shown; i++)
		put_cell((enum top_column)i, widths[i], top_heading((enum top_column)i));
	for (size_t row = 0; row < rows->count; row++) {
		putchar('\n');
		for (int i = 0; i < shown; i++)
			put_cell((enum top_column)i, widths[i],
				 top_cell(&rows->rows[row], (enum top_column)i).text);
	}
	printf("\n\n");
	for (size_t i = 0; i < model->count; i++)
		for (size_t k = 0; k < model->processes[i].use_count; k++)
			put_sites(&model->processes[i], &model->processes[i].uses[k]);
}

/* ---- numbers of one pool or GPU, by name ---- */

struct number {
	const char *name;
	uint64_t value;
};
#define NUMBERS 14

static void get_numbers(const struct mam_statpage_figures *figures, struct number numbers[NUMBERS])
{
	const struct number all[NUMBERS] = {
		{ "live_bytes", figures->live_bytes },
		{ "live_blocks", figures->live_blocks },
		{ "cached_bytes", figures->cached_bytes },
		{ "retired_bytes", figures->retired_bytes },
		{ "reserved_bytes", figures->reserved_bytes },
		{ "peak_live_bytes", figures->peak_live_bytes },
		{ "peak_retired_bytes", figures->peak_retired_bytes },
		{ "peak_reserved_bytes", figures->peak_reserved_bytes },
		{ "allocs", figures->allocs },
		{ "frees", figures->frees },
		{ "failures", figures->failures },
		{ "driver_calls", figures->driver_calls },
		{ "driver_ns", figures->driver_ns },
		{ "pools", figures->pools },
	};

	memcpy(numbers, all, sizeof(all));
}

/* ---- lines ---- */

static void put_line(const struct top_process *process, const struct top_pool *pool,
		     uint64_t time_ms)
{
	struct mam_statpage_figures none = { .pools = 0 };
	struct number numbers[NUMBERS];

	printf("%" PRIu64 ".%03d\t%ld\t%s\t", time_ms / 1000, (int)(time_ms % 1000),
	       (long)process->pid, process->program);
	if (process->rank != 0)
		printf("%" PRIu64, process->rank - 1);
	if (pool == NULL)
		printf("\t\t\t\tnone");
	else
		printf("\t%d\t%s\t%s\t%s", pool->gpu, pool->name, pool->source,
		       pool->has_ended ? "ended" : "in_use");
	get_numbers(pool == NULL ? &none : &pool->figures, numbers);
	for (int i = 0; i < NUMBERS - 1; i++)
		printf("\t%" PRIu64, numbers[i].value);
	if (pool != NULL && pool->alloc_rate >= 0)
		printf("\t%.1f\n", pool->alloc_rate);
	else
		printf("\t\n");
}

void output_lines(const struct top_model *model, uint64_t time_ms, bool is_first)
{
	const struct mam_statpage_figures none = { .pools = 0 };
	struct number numbers[NUMBERS];

	get_numbers(&none, numbers);
	if (is_first) {
		printf("time\tpid\tprogram\trank\tgpu\tpool\tsource\tstate");
		for (int i = 0; i < NUMBERS - 1; i++)
			printf("\t%s", numbers[i].name);
		printf("\tallocs_per_second\n");
	}
	for (size_t i = 0; i < model->count; i++) {
		const struct top_process *process = &model->processes[i];

		for (size_t k = 0; k < process->pool_count; k++)
			put_line(process, &process->pools[k], time_ms);
		if (process->pool_count == 0)
			put_line(process, NULL, time_ms);
	}
}

/* ---- JSON ---- */

static void json_figures(const struct mam_statpage_figures *figures, double rate, int count)
{
	struct number numbers[NUMBERS];

	get_numbers(figures, numbers);
	for (int i = 0; i < count; i++) {
		printf(",\"%s\":", numbers[i].name);
		json_put_number(stdout, numbers[i].value);
	}
	if (rate >= 0)
		printf(",\"allocs_per_second\":%.1f", rate);
	else
		printf(",\"allocs_per_second\":null");
}

static void json_pool(const struct top_pool *pool)
{
	printf("{\"name\":");
	json_put_text(stdout, pool->name);
	printf(",\"source\":");
	json_put_text(stdout, pool->source);
	printf(",\"gpu\":%d,\"state\":\"%s\"", pool->gpu, pool->has_ended ? "ended" : "in_use");
	json_figures(&pool->figures, pool->alloc_rate, NUMBERS - 1);
	putchar('}');
}

/* The others have no name. */
static void json_site(const struct mam_statpage_holder *site)
{
	printf("{\"name\":");
	if (site->name[0] == '\0')
		printf("null");
	else
		json_put_text(stdout, site->name);
	printf(",\"live_bytes\":");
	json_put_number(stdout, site->bytes);
	printf(",\"error_bytes\":");
	json_put_number(stdout, site->error);
	printf(",\"live_blocks\":");
	json_put_number(stdout, site->blocks);
	putchar('}');
}

static void json_sites(const struct top_use *use)
{
	if (use->sites_since == 0) {
		printf("null");
		return;
	}
	printf("{\"since\":");
	json_put_number(stdout, use->sites_since);
	printf(",\"unsampled_bytes\":");
	json_put_number(stdout, top_unsampled(use));
	printf(",\"sites\":[");
	for (size_t i = 0; i < use->site_count; i++) {
		printf("%s", i == 0 ? "" : ",");
		json_site(&use->sites[i]);
	}
	printf("]}");
}

static void json_use(const struct top_use *use)
{
	printf("{\"gpu\":%d", use->gpu);
	json_figures(&use->figures, use->alloc_rate, NUMBERS);
	printf(",\"nvml_bytes\":");
	if (use->nvml_bytes == TOP_NO_BYTES)
		printf("null");
	else
		json_put_number(stdout, use->nvml_bytes);
	printf(",\"sampled\":");
	json_sites(use);
	putchar('}');
}

static void json_process(const struct top_process *process)
{
	bool has_gpus = process->uses[0].gpu != TOP_NO_GPU;

	printf("{\"pid\":%ld,\"program\":", (long)process->pid);
	json_put_text(stdout, process->program);
	printf(",\"rank\":");
	if (process->rank == 0)
		printf("null");
	else
		json_put_number(stdout, process->rank - 1);
	printf(",\"gpus\":[");
	for (size_t i = 0; i < process->use_count && has_gpus; i++) {
		printf("%s", i == 0 ? "" : ",");
		json_use(&process->uses[i]);
	}
	printf("],\"pools\":[");
	for (size_t i = 0; i < process->pool_count; i++) {
		printf("%s", i == 0 ? "" : ",");
		json_pool(&process->pools[i]);
	}
	printf("]}");
}

static void json_gpu(int index, const struct top_gpu *gpu)
{
	printf("{\"index\":%d,\"name\":", index);
	json_put_text(stdout, gpu->name);
	printf(",\"used_bytes\":");
	json_put_number(stdout, gpu->used_bytes);
	printf(",\"total_bytes\":");
	json_put_number(stdout, gpu->total_bytes);
	putchar('}');
}

void output_json(const struct top_model *model, uint64_t time_ms)
{
	printf("{\"time\":%" PRIu64 ".%03d,\"processes\":[", time_ms / 1000, (int)(time_ms % 1000));
	for (size_t i = 0; i < model->count; i++) {
		printf("%s", i == 0 ? "" : ",");
		json_process(&model->processes[i]);
	}
	printf("],\"nvml\":[");
	for (int i = 0; i < model->gpu_count; i++) {
		printf("%s", i == 0 ? "" : ",");
		json_gpu(i, &model->gpus[i]);
	}
	printf("]}\n");
}
