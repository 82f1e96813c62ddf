/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_places.c - the possible gain of coalescing, before any cache: the placement of the memory of
 * a warp's lanes.
 *
 * Each lane reads its own element i at the same time. The accessed lines are counted for eight i
 * from the first to the last, and the mean is reported: the minimum is 1, the maximum 32. A cache
 * keeps the rest of a line for other lanes, so a second number is reported: the lines that a
 * block's memory spans, divided by the minimum.
 */
#include <stdlib.h>

#include "mpi_bench.h"

#define LINE 128u
#define WARP 32u
#define SAMPLES 8u

static int compare(const void *a, const void *b)
{
	const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

	return (first > second) - (first < second);
}

/* The number of distinct lines. */
static uint32_t count_distinct(uint64_t *lines, uint32_t count)
{
	uint32_t distinct = count > 0, i;

	qsort(lines, count, sizeof(*lines), compare);
	for (i = 1; i < count; i++)
		distinct += lines[i] != lines[i - 1];
	return distinct;
}

static uint32_t lines_of_warp(const uint64_t *addresses, uint32_t lanes, uint32_t offset)
{
	uint64_t lines[WARP];
	uint32_t count = 0, i;

	for (i = 0; i < lanes; i++) {
		if (addresses[i] != 0)
			lines[count++] = (addresses[i] + offset) / LINE;
	}
	return count_distinct(lines, count);
}

/*
 * Neighboring parts share one line at most: in sorted order, each begins after the end of the
 * previous one.
 */
static void add_held(const uint64_t *addresses, uint32_t threads, uint32_t bytes, double *held,
		     double *fewest)
{
	uint64_t *sorted = malloc(threads * sizeof(*sorted)), last = 0;
	uint32_t i, count = 0;

	if (sorted == NULL)
		return;
	for (i = 0; i < threads; i++) {
		if (addresses[i] != 0)
			sorted[count++] = addresses[i];
	}
	qsort(sorted, count, sizeof(*sorted), compare);
	for (i = 0; i < count; i++) {
		const uint64_t end = (sorted[i] + bytes - 1) / LINE + 1;
		const uint64_t begin = sorted[i] / LINE < last ? last : sorted[i] / LINE;

		*held += end > begin ? (double)(end - begin) : 0;
		last = end;
	}
	*fewest += (double)(((uint64_t)count * bytes + LINE - 1) / LINE);
	free(sorted);
}

struct mpi_places mpi_places_of(const uint64_t *addresses, uint32_t threads, uint32_t block,
				uint32_t bytes)
{
	const uint32_t elements = bytes / 4;
	double distance = 0, pairs = 0, lines = 0, accesses = 0, held = 0, fewest = 0;
	uint32_t i, warp, sample;

	for (i = 1; i < threads; i++) {
		const uint64_t a = addresses[i - 1], b = addresses[i];

		if (i % WARP == 0 || a == 0 || b == 0)
			continue;
		distance += (double)(a > b ? a - b : b - a);
		pairs++;
	}
	for (warp = 0; warp < threads; warp += WARP) {
		const uint32_t lanes = threads - warp < WARP ? threads - warp : WARP;

		for (sample = 0; sample < SAMPLES; sample++) {
			const uint64_t element = (uint64_t)sample * (elements - 1) / (SAMPLES - 1);

			lines += lines_of_warp(&addresses[warp], lanes, (uint32_t)element * 4);
			accesses++;
		}
	}
	for (i = 0; i < threads; i += block)
		add_held(&addresses[i], threads - i < block ? threads - i : block, bytes, &held,
			 &fewest);
	return (struct mpi_places){ .lane_distance = pairs > 0 ? distance / pairs : 0,
				    .lines_per_access = accesses > 0 ? lines / accesses : 0,
				    .lines_held = fewest > 0 ? held / fewest : 0 };
}
