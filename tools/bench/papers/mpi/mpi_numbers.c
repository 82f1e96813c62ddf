/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_numbers.c - means, deviations and quantiles of a few runs, and the errors of runs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi_bench.h"
#include "mpi_job.h"

void mpi_numbers_add(struct mpi_numbers *numbers, double value)
{
	if (numbers->count < MPI_RUNS_MAX)
		numbers->values[numbers->count++] = value;
}

double mpi_numbers_mean(const struct mpi_numbers *numbers)
{
	double sum = 0;
	unsigned int i;

	for (i = 0; i < numbers->count; i++)
		sum += numbers->values[i];
	return numbers->count > 0 ? sum / numbers->count : 0;
}

double mpi_numbers_deviation(const struct mpi_numbers *numbers)
{
	const double mean = mpi_numbers_mean(numbers);
	double squares = 0;
	unsigned int i;

	for (i = 0; i < numbers->count; i++)
		squares += (numbers->values[i] - mean) * (numbers->values[i] - mean);
	return numbers->count > 1 ? sqrt(squares / (numbers->count - 1)) : 0;
}

static int compare(const void *a, const void *b)
{
	const double first = *(const double *)a, second = *(const double *)b;

	return (first > second) - (first < second);
}

double mpi_numbers_quantile(const struct mpi_numbers *numbers, double quantile)
{
	struct mpi_numbers sorted = *numbers;
	double place, part;
	unsigned int low;

	if (sorted.count == 0)
		return 0;
	qsort(sorted.values, sorted.count, sizeof(sorted.values[0]), compare);
	place = quantile * (sorted.count - 1);
	low = (unsigned int)place;
	part = place - low;
	if (low + 1 >= sorted.count)
		return sorted.values[sorted.count - 1];
	return sorted.values[low] * (1 - part) + sorted.values[low + 1] * part;
}

/* ---- errors of runs ---- */

static void complain(struct mpi_verdict *verdict, uint64_t count, const char *what)
{
	if (count > 0 && verdict->wrong == 0)
		snprintf(verdict->why, sizeof(verdict->why), "%s: %llu", what,
			 (unsigned long long)count);
	verdict->wrong += count;
}

void mpi_verdict_add(struct mpi_verdict *verdict, const struct device_found *found)
{
	verdict->none = found->none > verdict->none ? found->none : verdict->none;
	verdict->clock += found->cycles[0];
	verdict->timer += found->cycles[1];
	complain(verdict, found->corrupt, "results or words differ from the expected ones");
	complain(verdict, found->crooked, "addresses are not aligned");
	complain(verdict, found->refused, "frees were not taken");
	/* A rank without memory for a message sends none, and all ranks give up. */
	complain(verdict, found->none > 0 ? 0 : found->beyond, "messages did not come");
}

void mpi_verdict_report(struct device_run *run, const struct device_heap *heap,
			const struct device_cell *cell, const struct mpi_verdict *verdict)
{
	device_row(run, heap, cell, "wrong", (double)verdict->wrong);
	if (verdict->none > 0)
		device_row(run, heap, cell, "none", (double)verdict->none);
	if (verdict->wrong > 0)
		device_note(run, heap, cell, "%s", verdict->why);
}

double mpi_verdict_ghz(const struct mpi_verdict *verdict)
{
	return verdict->timer > 0 ? (double)verdict->clock / (double)verdict->timer : 0;
}
