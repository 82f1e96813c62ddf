/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_mean.c - combine several traces under the same settings to one table of geometric means,
 * which do not depend on the base of the ratios.
 *
 * Bytes, free blocks and waste have no such mean. A setting that failed on one trace counts as
 * failed.
 */
#include "compare/compare.h"

#include <math.h>
#include <string.h>

/* The logarithm of a number that may be unknown, or 0 for 0. */
static double log_of(double number)
{
	return number > 0 ? log(number) : 0;
}

static void mean_row(const struct compare_table *tables, int count, size_t i,
		     struct compare_row *mean)
{
	double needs = 0, water = 0, time = 0;

	mean->setting = tables[0].rows[i].setting;
	mean->free_blocks = -1;
	mean->waste = -1;
	mean->driver_ms = -1;
	for (int t = 0; t < count; t++) {
		const struct compare_row *row = &tables[t].rows[i];

		needs += log_of(row->needed_ratio);
		water += log_of(row->high_water_ratio);
		time += log_of(row->ns_per_event);
		mean->result.failures += row->result.failures;
	}
	mean->needed_ratio = exp(needs / count);
	mean->high_water_ratio = mean->setting ? exp(water / count) : 0;
	mean->ns_per_event = exp(time / count);
}

void compare_mean(const struct compare_table *tables, int count, struct compare_table *mean)
{
	memset(mean, 0, sizeof(*mean));
	mean->count = tables[0].count;
	for (size_t i = 0; i < mean->count; i++)
		mean_row(tables, count, i, &mean->rows[i]);
}
