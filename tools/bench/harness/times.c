/* SPDX-License-Identifier: Apache-2.0 */
/*
 * times.c - times of single operations, and their quantiles.
 *
 * A time is the difference of two clock reads, minus the cost of reading (measure.c), and at least
 * 0. Memory is allocated at the beginning, so that recording a time costs the measured program two
 * stores. Times that do not fit count in the mean and in the maximum, but not in quantiles. A
 * quantile q of n sorted times is the one at place ceil(q n), so there is no interpolation.
 */
#include <math.h>
#include <stdlib.h>

#include "bench/bench.h"

bool bench_times_init(struct bench_times *times, size_t room)
{
	*times = (struct bench_times){ .ns = bench_measure_pages(room * sizeof(*times->ns)),
				       .room = room };
	return times->ns != NULL;
}

void bench_times_fini(struct bench_times *times)
{
	bench_measure_pages_free(times->ns, times->room * sizeof(*times->ns));
	times->ns = NULL;
}

void bench_times_add(struct bench_times *times, uint64_t start, uint64_t end)
{
	double ns = (double)(end - start) - bench_measure_clock_cost();
	float kept = ns > 0 ? (float)ns : 0; /* the maximum is a float, too: no quantile exceeds
					      * it */

	if (times->kept < times->room)
		times->ns[times->kept++] = kept;
	if (kept > times->max)
		times->max = kept;
	times->sum += kept;
	times->count++;
	times->sorted = false;
}

static int compare(const void *left, const void *right)
{
	float a = *(const float *)left, b = *(const float *)right;

	return (a > b) - (a < b);
}

double bench_times_quantile(struct bench_times *times, double quantile)
{
	double place;

	if (times->kept == 0)
		return 0;
	if (!times->sorted)
		qsort(times->ns, times->kept, sizeof(*times->ns), compare);
	times->sorted = true;
	place = ceil(quantile * (double)times->kept);
	if (place < 1)
		place = 1;
	return times->ns[(size_t)place - 1];
}

double bench_times_mean(const struct bench_times *times)
{
	return times->count > 0 ? times->sum / (double)times->count : 0;
}
