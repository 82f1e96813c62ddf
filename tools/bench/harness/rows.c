/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.c - queries of results for tables (rows.h).
 */
#include "rows.h"

#include <stdio.h>
#include <string.h>

#include "bench/bench.h"

bool bench_rows_has(const struct bench_results *results, const char *workload, const char *name)
{
	size_t i;

	for (i = 0; i < results->count; i++) {
		if (strcmp(results->rows[i].workload, workload) == 0 &&
		    (name == NULL || strcmp(results->rows[i].peer, name) == 0))
			return true;
	}
	return false;
}

bool bench_rows_is_first(const struct bench_results *results, const char *workload, size_t at)
{
	const struct bench_result *rows = results->rows;
	size_t i;

	if (strcmp(rows[at].workload, workload) != 0)
		return false;
	for (i = 0; i < at; i++) {
		if (strcmp(rows[i].workload, workload) == 0 &&
		    strcmp(rows[i].parameter, rows[at].parameter) == 0)
			return false;
	}
	return true;
}

const char *bench_rows_show(double value, char *text, size_t bytes)
{
	if (value >= 99999.5)
		snprintf(text, bytes, "%.3gM", value / 1e6);
	else if (value >= 99.95)
		snprintf(text, bytes, "%.0f", value);
	else if (value >= 9.995)
		snprintf(text, bytes, "%.1f", value);
	else if (value >= 0.0995 || value <= 0)
		snprintf(text, bytes, "%.2f", value);
	else
		snprintf(text, bytes, "%.2g", value);
	return text;
}
