/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_published.c - the report's numbers, and the speedups of the measurements.
 *
 * Source: N. Blach, M. Erhart, F. Memedi, A. Schäfer, "Coalescing Memory Allocations for GPU MPI",
 * project report, Design of Parallel and High-Performance Computing, ETH Zürich. Its figures 3 and
 * 4 are of an NVIDIA GeForce GTX 1050 Ti with CUDA 11.3 and 12 blocks of 1024 threads; figure 5 is
 * of a GeForce RTX 2060 with CUDA 11.5. Figures 1 and 2, in Gflop/s, are pictures; figure 3 shows
 * the same as speedups over the base. H and N are with headers and without, B and W a block and a
 * warp; "header" of figure 5 is its dynamic way, "no-header" the static one.
 *
 * A speedup is over the base alone, of the same run: `speedup` of a way over its own base,
 * `speedup_cuda` over CUDA's malloc whatever the base; of the work's cycles, or of an operation's
 * median time. Workload mpi-speedup repeats the published ones for their figure.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/harness/rows.h"
#include "mpi_bench.h"

#define LINEAR "mpi-linear"
#define QUADRATIC "mpi-quadratic"
#define OPERATIONS "mpi-operations"

/* At n of 100, 200, 300 and 400: mean and deviation. */
static const char *const sizes[] = { "100", "200", "300", "400" };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static const struct {
	const char *workload, *allocator, *metric, *deviation;
	double values[SIZES][2];
} units[] = {
	{ LINEAR,
	  "published-HB",
	  "speedup",
	  "speedup_sd",
	  { { 0.13, 0.02 }, { 0.26, 0.02 }, { 0.32, 0.03 }, { 0.35, 0.02 } } },
	{ LINEAR,
	  "published-NB",
	  "speedup",
	  "speedup_sd",
	  { { 0.18, 0.02 }, { 0.42, 0.02 }, { 0.70, 0.03 }, { 0.86, 0.04 } } },
	{ LINEAR,
	  "published-HW",
	  "speedup",
	  "speedup_sd",
	  { { 2.44, 0.34 }, { 3.81, 1.28 }, { 3.77, 0.13 }, { 3.46, 0.23 } } },
	{ LINEAR,
	  "published-NW",
	  "speedup",
	  "speedup_sd",
	  { { 1.40, 0.21 }, { 2.66, 0.19 }, { 3.07, 0.19 }, { 3.18, 0.22 } } },
	{ QUADRATIC,
	  "published-HB",
	  "speedup",
	  "speedup_sd",
	  { { 0.38, 0.01 }, { 0.64, 0.03 }, { 0.78, 0.03 }, { 0.88, 0.03 } } },
	{ QUADRATIC,
	  "published-NB",
	  "speedup",
	  "speedup_sd",
	  { { 0.91, 0.03 }, { 1.70, 0.07 }, { 2.06, 0.07 }, { 2.18, 0.08 } } },
	{ QUADRATIC,
	  "published-HW",
	  "speedup",
	  "speedup_sd",
	  { { 0.79, 0.21 }, { 0.77, 0.03 }, { 0.82, 0.03 }, { 0.99, 0.03 } } },
	{ QUADRATIC,
	  "published-NW",
	  "speedup",
	  "speedup_sd",
	  { { 1.20, 0.10 }, { 2.27, 0.22 }, { 2.09, 0.08 }, { 2.21, 0.08 } } },
	{ LINEAR,
	  "published",
	  "malloc_ms",
	  "malloc_ms_sd",
	  { { 10.37, 0.36 }, { 57.30, 1.28 }, { 294.74, 5.46 }, { 296.95, 5.11 } } },
	{ LINEAR,
	  "published-HB",
	  "malloc_ms",
	  "malloc_ms_sd",
	  { { 0.13, 0.02 }, { 0.20, 0.03 }, { 0.32, 0.08 }, { 0.35, 0.10 } } },
	{ LINEAR,
	  "published-NB",
	  "malloc_ms",
	  "malloc_ms_sd",
	  { { 1.62, 0.01 }, { 1.63, 0.01 }, { 1.63, 0.01 }, { 1.61, 0.01 } } },
	{ LINEAR,
	  "published-HW",
	  "malloc_ms",
	  "malloc_ms_sd",
	  { { 1.09, 0.81 }, { 2.11, 1.73 }, { 7.28, 3.31 }, { 7.49, 3.29 } } },
	{ LINEAR,
	  "published-NW",
	  "malloc_ms",
	  "malloc_ms_sd",
	  { { 2.55, 0.44 }, { 4.49, 1.54 }, { 10.34, 4.51 }, { 9.01, 3.80 } } },
	{ LINEAR,
	  "published",
	  "free_ms",
	  "free_ms_sd",
	  { { 0.06, 0.03 }, { 0.10, 0.04 }, { 0.57, 0.30 }, { 0.79, 0.42 } } },
	{ LINEAR,
	  "published-HB",
	  "free_ms",
	  "free_ms_sd",
	  { { 0.01, 0.00 }, { 0.01, 0.00 }, { 0.02, 0.00 }, { 0.02, 0.00 } } },
	{ LINEAR,
	  "published-NB",
	  "free_ms",
	  "free_ms_sd",
	  { { 0.07, 0.02 }, { 0.08, 0.02 }, { 0.08, 0.02 }, { 0.07, 0.02 } } },
	{ LINEAR,
	  "published-HW",
	  "free_ms",
	  "free_ms_sd",
	  { { 0.08, 0.02 }, { 0.15, 0.07 }, { 0.47, 0.20 }, { 0.46, 0.16 } } },
	{ LINEAR,
	  "published-NW",
	  "free_ms",
	  "free_ms_sd",
	  { { 0.86, 0.33 }, { 1.63, 0.62 }, { 1.27, 0.46 }, { 1.56, 0.71 } } },
};

static const struct {
	const char *allocator, *parameter;
	double p5, median, p95, speedup; /* speedup 0: it is the base */
} operations[] = {
	{ "published", "reduce", 4.85, 5.08, 6.02, 0 },
	{ "published", "broadcast", 4.93, 5.33, 5.76, 0 },
	{ "published", "all-to-all", 17953.02, 18316.86, 19527.91, 0 },
	{ "published-NW", "reduce", 4.94, 5.34, 37.97, 0.95 },
	{ "published-NW", "broadcast", 4.79, 5.09, 5.61, 1.05 },
	{ "published-NW", "all-to-all", 3904.17, 4149.39, 4312.30, 4.41 },
	{ "published-dynamic", "reduce", 5.03, 5.45, 5.78, 0.93 },
	{ "published-dynamic", "broadcast", 4.92, 5.21, 5.755, 1.02 },
	{ "published-dynamic", "all-to-all", 3636.10, 4172.95, 4296.39, 4.39 },
};

static void add_published(struct bench_results *results)
{
	size_t i, k;

	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		for (k = 0; k < SIZES && bench_rows_has(results, units[i].workload, NULL); k++) {
			bench_results_add(results, units[i].workload, units[i].allocator, sizes[k],
					  units[i].metric, units[i].values[k][0]);
			bench_results_add(results, units[i].workload, units[i].allocator, sizes[k],
					  units[i].deviation, units[i].values[k][1]);
		}
	}
	for (i = 0; i < sizeof(operations) / sizeof(operations[0]) &&
		    bench_rows_has(results, OPERATIONS, NULL);
	     i++) {
		const char *name = operations[i].allocator, *parameter = operations[i].parameter;

		bench_results_add(results, OPERATIONS, name, parameter, "p5_ms", operations[i].p5);
		bench_results_add(results, OPERATIONS, name, parameter, "median_ms",
				  operations[i].median);
		bench_results_add(results, OPERATIONS, name, parameter, "p95_ms",
				  operations[i].p95);
		if (operations[i].speedup > 0)
			bench_results_add(results, OPERATIONS, name, parameter, "speedup",
					  operations[i].speedup);
	}
}

/* A time and its deviation, if known. */
struct time {
	double value, deviation;
};

static bool get_time(const struct bench_results *results, const struct bench_result *like,
		     const char *name, struct time *time)
{
	char deviation[40];

	snprintf(deviation, sizeof(deviation), "%s_sd", like->metric);
	if (!bench_results_get(results, like->workload, name, like->parameter, deviation,
			       &time->deviation))
		time->deviation = 0;
	return bench_results_get(results, like->workload, name, like->parameter, like->metric,
				 &time->value) &&
	       time->value > 0;
}

/* Speedups of figures 3 and 5, theirs and ours. */
static const struct {
	const char *name, *workload, *parameter;
} pictured[] = {
	{ "linear 100", LINEAR, "100" },
	{ "linear 200", LINEAR, "200" },
	{ "linear 300", LINEAR, "300" },
	{ "linear 400", LINEAR, "400" },
	{ "quadratic 100", QUADRATIC, "100" },
	{ "quadratic 200", QUADRATIC, "200" },
	{ "quadratic 300", QUADRATIC, "300" },
	{ "quadratic 400", QUADRATIC, "400" },
	{ "reduce", OPERATIONS, "reduce" },
	{ "broadcast", OPERATIONS, "broadcast" },
	{ "all-to-all", OPERATIONS, "all-to-all" },
};

static void add_pictured(struct bench_results *results)
{
	const size_t count = results->count;
	size_t i, k;

	for (i = 0; i < count; i++) {
		const struct bench_result row = results->rows[i];

		if (strcmp(row.metric, "speedup") != 0)
			continue;
		for (k = 0; k < sizeof(pictured) / sizeof(pictured[0]); k++) {
			if (strcmp(row.workload, pictured[k].workload) == 0 &&
			    strcmp(row.parameter, pictured[k].parameter) == 0)
				bench_results_add(results, "mpi-speedup", row.peer,
						  pictured[k].name, "times", row.value);
		}
	}
}

/* Adds the quotient of two independent values with its deviation. */
static void add_quotient(struct bench_results *results, const struct bench_result *like,
			 struct time slow, struct time fast, const char *metric,
			 const char *deviation)
{
	const double times = slow.value / fast.value;

	bench_results_add(results, like->workload, like->peer, like->parameter, metric, times);
	if (slow.deviation > 0 || fast.deviation > 0)
		bench_results_add(
			results, like->workload, like->peer, like->parameter, deviation,
			times * hypot(slow.deviation / slow.value, fast.deviation / fast.value));
}

void mpi_complete(struct bench_results *results)
{
	const size_t count = results->count;
	size_t i;

	for (i = 0; i < count; i++) {
		const struct bench_result row = results->rows[i];
		const struct mpi_way *way = mpi_way_of(row.peer);
		struct time own, base;

		if (way == NULL || (strcmp(row.metric, "work_cycles") != 0 &&
				    strcmp(row.metric, "median_ms") != 0))
			continue;
		if (!get_time(results, &row, row.peer, &own))
			continue;
		if (strcmp(way->suffix, "base") != 0 &&
		    get_time(results, &row, way->over_mam ? "mam" : "cuda", &base))
			add_quotient(results, &row, base, own, "speedup", "speedup_sd");
		if (way->over_mam && get_time(results, &row, "cuda", &base))
			add_quotient(results, &row, base, own, "speedup_cuda", "speedup_cuda_sd");
	}
	add_published(results);
	add_pictured(results);
}
