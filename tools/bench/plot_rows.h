/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot_rows.h - results as the input of figures: read from files, or from the current measurement.
 */
#ifndef MAM_TOOLS_BENCH_PLOT_ROWS_H
#define MAM_TOOLS_BENCH_PLOT_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#define PLOT_FIELDS 5
#define PLOT_FACT_BYTES 200

struct bench_machine;
struct bench_results;

struct plot_row {
	char *text;                      /* the line, cut into the fields; NULL: owned by others */
	const char *fields[PLOT_FIELDS]; /* workload, allocator, parameter, metric, value */
	double value;
};

/* The machine and the time of a measurement; "" where no file has them. */
struct plot_facts {
	char gpu[PLOT_FACT_BYTES], driver[PLOT_FACT_BYTES], cpu[PLOT_FACT_BYTES],
		date[PLOT_FACT_BYTES];
};

struct plot_rows {
	struct plot_row *rows;
	size_t count, room;
	struct plot_facts facts;
};

void plot_rows_fini(struct plot_rows *rows);
/*
 * plot_rows_read - a file's rows and facts in the place of the same of earlier files. Returns an exit
 * status; errors are reported. A file whose first row has other columns is an error if `other` is NULL;
 * otherwise *other is the line of that row, and nothing is read. 0: it has rows of results.
 */
int plot_rows_read(const char *path, struct plot_rows *rows, size_t *other);
/*
 * plot_rows_read_back - a file's rows and facts as if they were new measurements; `rows` holds the
 * strings. Returns an exit status after reporting errors.
 */
int plot_rows_read_back(const char *path, struct plot_rows *rows, struct bench_results *results,
			struct bench_machine *machine);
/*
 * plot_rows_take - use the current measurements, which must outlive the rows; returns false if
 * memory ran out
 */
bool plot_rows_take(struct plot_rows *rows, const struct bench_results *results,
		    const struct bench_machine *machine);
/* plot_rows_value - 0 if there is no such row */
double plot_rows_value(const struct plot_rows *rows, const char *workload, const char *peer,
		       const char *parameter, const char *metric);
/* plot_rows_has - parameter NULL: any */
bool plot_rows_has(const struct plot_rows *rows, const char *workload, const char *peer,
		   const char *parameter);
/* plot_rows_footnote - the machine, its driver and the day, in one line; "" if unknown */
void plot_rows_footnote(const struct plot_rows *rows, char *text, size_t bytes);

#endif
