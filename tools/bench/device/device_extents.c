/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_extents.c - the address ranges of objects, on the host.
 */
#include <stdlib.h>

#include "device_time.h"
#include "bench/harness/gpu.h"

static int compare_extents(const void *left, const void *right)
{
	const struct device_extent *a = left, *b = right;

	return (a->first > b->first) - (a->first < b->first);
}

bool device_extents_fetch(const struct device_job *job, struct device_extents *extents)
{
	uint64_t *got = malloc((size_t)job->askers * sizeof(*got) + 1);
	uint32_t *bytes = malloc((size_t)job->askers * sizeof(*bytes) + 1), i;
	bool good = true;

	extents->count = 0;
	extents->of = malloc((size_t)job->askers * sizeof(*extents->of) + 1);
	if (got == NULL || bytes == NULL) {
		free(extents->of);
		extents->of = NULL;
	}
	if (extents->of != NULL)
		good = bench_gpu_fetch(got, job->got, job->askers * sizeof(*got)) &&
		       bench_gpu_fetch(bytes, job->numbers, job->askers * sizeof(*bytes));
	for (i = 0; good && extents->of != NULL && i < job->askers; i++) {
		if (got[i] != 0)
			extents->of[extents->count++] =
				(struct device_extent){ got[i], got[i] + bytes[i] };
	}
	if (extents->count > 0)
		qsort(extents->of, extents->count, sizeof(*extents->of), compare_extents);
	if (!good) {
		free(extents->of);
		extents->of = NULL;
	}
	free(got);
	free(bytes);
	return good;
}

uint64_t device_extents_bytes(const struct device_extents *extents)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < extents->count; i++)
		bytes += extents->of[i].end - extents->of[i].first;
	return bytes;
}

static uint64_t rounded(uint64_t address)
{
	return (address + DEVICE_GRAIN - 1) / DEVICE_GRAIN * DEVICE_GRAIN;
}

uint64_t device_extents_room(const struct device_extents *extents, uint64_t low, uint64_t high,
			     uint64_t bytes)
{
	uint64_t at = rounded(low), room = 0;
	size_t i;

	for (i = 0; i < extents->count; i++) {
		if (extents->of[i].first > at)
			room += (extents->of[i].first - at) / bytes;
		if (extents->of[i].end > at)
			at = rounded(extents->of[i].end);
	}
	return high > at ? room + (high - at) / bytes : room;
}
