/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.h - what tables for people ask of results: which rows there are, and numbers in few digits.
 */
#ifndef MAM_TOOLS_BENCH_ROWS_H
#define MAM_TOOLS_BENCH_ROWS_H

#include <stdbool.h>
#include <stddef.h>

struct bench_results;

/* bench_rows_has - is there a row of this workload and allocator? NULL: of any */
bool bench_rows_has(const struct bench_results *results, const char *workload, const char *name);
/* bench_rows_is_first - is row `at` the first of this workload and its parameter? Lines of a table
 * are in the order of those. */
bool bench_rows_is_first(const struct bench_results *results, const char *workload, size_t at);
/* bench_rows_show - two to four digits */
const char *bench_rows_show(double value, char *text, size_t bytes);

#endif
