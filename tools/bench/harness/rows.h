/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.h - queries of results for tables: which rows there are, and numbers with few digits.
 */
#ifndef MAM_TOOLS_BENCH_ROWS_H
#define MAM_TOOLS_BENCH_ROWS_H

#include <stdbool.h>
#include <stddef.h>

struct bench_results;

/* bench_rows_has - return true if there is a row of this workload and allocator; NULL: of any */
bool bench_rows_has(const struct bench_results *results, const char *workload, const char *name);
/*
 * bench_rows_is_first - return true if row `at` is the first of this workload and its parameter,
 * which determines the order of a table's lines.
 */
bool bench_rows_is_first(const struct bench_results *results, const char *workload, size_t at);
/* bench_rows_show - two to four digits */
const char *bench_rows_show(double value, char *text, size_t bytes);

#endif
