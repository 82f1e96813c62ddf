/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results_read.h - reads results from the files that bench_results_save() writes.
 */
#ifndef MAM_TOOLS_BENCH_RESULTS_READ_H
#define MAM_TOOLS_BENCH_RESULTS_READ_H

#include <stdbool.h>
#include <stddef.h>

#define RESULTS_FIELDS 5
#define RESULTS_FACT_BYTES 200

struct bench_machine;
struct bench_results;

struct results_row {
	char *text;                         /* the line, cut into the fields */
	const char *fields[RESULTS_FIELDS]; /* workload, allocator, parameter, metric, value */
	double value;
};

/* The machine, the time and the commit of a measurement; "" where the file has none. */
struct results_facts {
	char gpu[RESULTS_FACT_BYTES], driver[RESULTS_FACT_BYTES], cpu[RESULTS_FACT_BYTES],
		date[RESULTS_FACT_BYTES], commit[RESULTS_FACT_BYTES];
};

struct results_rows {
	struct results_row *rows;
	size_t count, room;
	bool keeps_repeats; /* rows of the same name stay; otherwise a later one replaces the first */
	struct results_facts facts;
};

void results_rows_fini(struct results_rows *rows);
/* results_rows_read - a file's rows and facts. Returns an exit status after reporting errors. */
int results_rows_read(const char *path, struct results_rows *rows);
/*
 * results_rows_read_back - a file's rows and facts as if they were new measurements; `rows` holds the
 * strings. Returns an exit status after reporting errors.
 */
int results_rows_read_back(const char *path, struct results_rows *rows,
			   struct bench_results *results, struct bench_machine *machine);
/* results_rows_value - 0 if there is no such row */
double results_rows_value(const struct results_rows *rows, const char *workload, const char *peer,
			  const char *parameter, const char *metric);

#endif
