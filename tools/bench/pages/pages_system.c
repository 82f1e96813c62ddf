/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_system.c - the untimed pass for CUDA's own malloc, which returns addresses: each owner
 * writes both ends of its block, a later kernel reads them, and the host checks the sorted
 * addresses for overlapping blocks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pages_ask.h"
#include "pages_bench.h"
#include "pages_device.h"
#include "pages_job.h"

struct span {
	uint64_t first, end;
};

static int compare_spans(const void *left, const void *right)
{
	const struct span *a = left, *b = right;

	return (a->first > b->first) - (a->first < b->first);
}

bool pages_system_overlaps(const uint64_t *blocks, const struct pages_job *job, uint64_t *overlaps)
{
	struct span *spans = malloc((job->askers + (size_t)1) * sizeof(*spans));
	size_t count = 0, i;

	if (spans == NULL)
		return false;
	for (i = 0; i < job->askers; i++) {
		if (blocks[i] != 0)
			spans[count++] =
				(struct span){ blocks[i],
					       blocks[i] + pages_bytes_of(job, (uint32_t)i) };
	}
	qsort(spans, count, sizeof(*spans), compare_spans);
	*overlaps = 0;
	for (i = 1; i < count; i++)
		*overlaps += spans[i].first < spans[i - 1].end;
	free(spans);
	return true;
}

bool pages_system_check(const struct pages_heap *heap, struct pages_room *room,
			const struct pages_cell *cell, struct pages_verdict *verdict)
{
	struct pages_found found;
	struct pages_job job;
	uint64_t overlaps = 0;

	*verdict = (struct pages_verdict){ .none = 0 };
	pages_heap_ask(heap, room, cell, &job);
	if (!pages_device_fill(job.found, 0, sizeof(found)) ||
	    !pages_device_fill(job.blocks, 0, job.askers * UINT64_C(8)) ||
	    !pages_heap_launch(heap, "get", &job, NULL) ||
	    !pages_heap_launch(heap, "write", &job, NULL) ||
	    !pages_heap_launch(heap, "read", &job, NULL) ||
	    !pages_device_fetch(room->blocks_here, job.blocks, job.askers * UINT64_C(8)) ||
	    !pages_heap_launch(heap, "give", &job, NULL) ||
	    !pages_device_fetch(&found, job.found, sizeof(found)))
		return false;
	verdict->none = found.none;
	if (!pages_system_overlaps(room->blocks_here, &job, &overlaps)) {
		verdict->wrong = 1;
		snprintf(verdict->why, sizeof(verdict->why), "no memory to check it");
		return true;
	}
	verdict->wrong = overlaps + found.corrupt;
	if (verdict->wrong > 0)
		snprintf(verdict->why, sizeof(verdict->why),
			 "blocks that overlap: %llu, that another thread wrote: %llu",
			 (unsigned long long)overlaps, (unsigned long long)found.corrupt);
	return true;
}
