/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_heap.c - one allocator's heap in an initial state: made, restored, used, and checked.
 *
 * 1. Made: on the host all pages are free. If only a share should be free, the metadata marks all
 *    as used (all are removed from a queue), and a kernel frees that many, at random places. That
 *    is the image. The metadata must then have the expected number of used pages.
 * 2. Restored: the image is copied over the heap. Each run begins so.
 * 3. Checked, in untimed passes: the four checks of pages_kernels.h, once with a kernel that counts
 *    steps and once with the timed kernel itself. There are more passes of the former if the means
 *    of steps must have small errors.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pages_bench.h"
#include "pages_device.h"
#include "pages_job.h"

#define CHECK_THREADS 65536
#define NEVER_WRITTEN 0xfe /* bytes of `got`: neither a page nor PAGES_NONE */
#define STRIDE_MIN 16

void pages_room_fini(struct pages_room *room)
{
	pages_device_give(room->got);
	pages_device_give(room->steps);
	pages_device_give(room->shadow);
	pages_device_give(room->blocks);
	pages_device_give(room->pages);
	pages_device_give(room->found);
	free(room->steps_here);
	free(room->blocks_here);
	memset(room, 0, sizeof(*room));
}

const char *pages_room_init(struct pages_room *room, const struct pages_plan *plan,
			    const struct pages_request *request)
{
	uint64_t pages = 1, askers = 1, i;

	memset(room, 0, sizeof(*room));
	for (i = 0; i < plan->count; i++) {
		const struct pages_cell *cell = &plan->cells[i];

		if (!request->wanted[cell->work] || cell->askers > request->effort.MAX_ASKERS)
			continue;
		pages = cell->space.pages > pages ? cell->space.pages : pages;
		askers = cell->askers > askers ? cell->askers : askers;
	}
	room->page_count = (uint32_t)pages;
	room->asker_count =
		(uint32_t)(askers > pages ? askers : pages); /* a queue is emptied, too */
	room->got = pages_device_take(room->asker_count * UINT64_C(4));
	room->steps = pages_device_take(askers * 4);
	room->shadow = pages_device_take(pages * 4);
	room->blocks = pages_device_take(askers * 8);
	room->found = pages_device_take(sizeof(*room->found));
	for (room->stride = PAGES_BYTES; room->pages == NULL && room->stride >= STRIDE_MIN;
	     room->stride /= 2)
		room->pages = pages_device_take(pages * room->stride);
	room->stride *= 2;
	room->steps_here = malloc(askers * sizeof(*room->steps_here));
	room->blocks_here = malloc(askers * sizeof(*room->blocks_here));
	if (room->got != NULL && room->steps != NULL && room->shadow != NULL &&
	    room->blocks != NULL && room->found != NULL && room->pages != NULL &&
	    room->steps_here != NULL && room->blocks_here != NULL)
		return NULL;
	pages_room_fini(room);
	return "there is too little memory for so many pages; use fewer with --pages";
}

/* Pages are a multiple of 64. */
static uint64_t metadata_bytes(const struct pages_allocator *allocator, uint32_t pages)
{
	switch (allocator->metadata) {
	case PAGES_BITS: return pages / 8;
	case PAGES_PAIRS: return pages / 4;
	case PAGES_FLAGS: return pages * UINT64_C(4);
	default: return 0;
	}
}

static bool are_counted(enum pages_metadata metadata)
{
	return metadata == PAGES_BITS || metadata == PAGES_PAIRS || metadata == PAGES_FLAGS;
}

void pages_heap_ask(const struct pages_heap *heap, const struct pages_room *room,
		    const struct pages_cell *cell, struct pages_job *job)
{
	const uint64_t at = heap->allocator->metadata_at;

	*job = (struct pages_job){
		.heap = heap->heap,
		.pages = heap->space.pages,
		.page_bytes = PAGES_BYTES,
		.askers = cell->askers,
		.lanes = cell->lanes,
		.min = cell->min,
		.max = cell->max,
		.group = heap->space.group,
		.got = room->got,
		.steps = room->steps,
		.blocks = room->blocks,
		.shadow = room->shadow,
		.space = room->pages,
		.stride = room->stride,
		.flags = heap->allocator->metadata == PAGES_FLAGS,
		.words = heap->heap == NULL ? NULL : (const void *)((char *)heap->heap + at),
		.image = heap->image == NULL ? NULL : (const void *)((char *)heap->image + at),
		.word_count = metadata_bytes(heap->allocator, heap->space.pages) / 8,
		.found = room->found,
	};
}

bool pages_heap_launch(const struct pages_heap *heap, const char *prefix,
		       const struct pages_job *job, double *us)
{
	const uint64_t warps = ((uint64_t)job->askers + job->lanes - 1) / job->lanes;
	char kernel[48];

	snprintf(kernel, sizeof(kernel), "%s_%s", prefix, heap->allocator->kernel);
	return pages_device_run(kernel, warps * PAGES_WARP, job, us);
}

bool pages_heap_restore(const struct pages_heap *heap)
{
	return heap->bytes == 0 || pages_device_copy(heap->heap, heap->image, heap->bytes);
}

void pages_heap_fini(struct pages_heap *heap)
{
	pages_device_give(heap->heap);
	pages_device_give(heap->image);
	heap->heap = heap->image = NULL;
}

/* On the host: all pages free, or all used. */
static bool put_image(const struct pages_heap *heap)
{
	const struct pages_allocator *allocator = heap->allocator;
	const uint64_t bytes = metadata_bytes(allocator, heap->space.pages);
	unsigned char *here = calloc(1, heap->bytes), *metadata;
	uint64_t i;
	bool good;

	if (here == NULL)
		return false;
	metadata = here + allocator->metadata_at;
	allocator->format(here, heap->space.pages);
	if (heap->space.free_tenths < 1000 && allocator->metadata == PAGES_BITS)
		memset(metadata, 0xff, bytes);
	if (heap->space.free_tenths < 1000 && allocator->metadata == PAGES_PAIRS) {
		for (i = 0; i < bytes; i += 8)
			memcpy(metadata + i, &(uint64_t){ 0xffffffff }, 8);
	}
	if (heap->space.free_tenths < 1000 && allocator->metadata == PAGES_FLAGS) {
		for (i = 0; i < bytes; i += 4)
			memcpy(metadata + i, &(uint32_t){ 1 }, 4);
	}
	good = pages_device_put(heap->heap, here, heap->bytes);
	free(here);
	return good;
}

/* Counts the used pages according to the heap's metadata, into heap->taken. */
static bool count_taken(struct pages_heap *heap, struct pages_job *job)
{
	struct pages_found found;

	heap->taken = 0;
	if (!are_counted(heap->allocator->metadata))
		return true;
	if (!pages_device_fill(job->found, 0, sizeof(found)) ||
	    !pages_device_run("check_count", CHECK_THREADS, job, NULL) ||
	    !pages_device_fetch(&found, job->found, sizeof(found)))
		return false;
	heap->taken = found.taken;
	return true;
}

/* Frees a share of the pages, when the metadata has all pages as used. */
static bool open_pages(struct pages_heap *heap, struct pages_room *room)
{
	const struct pages_cell all = { .askers = heap->space.pages,
					.lanes = PAGES_WARP,
					.min = PAGES_BYTES,
					.max = PAGES_BYTES };
	struct pages_job job;

	pages_heap_ask(heap, room, &all, &job);
	if (heap->allocator->metadata == PAGES_QUEUE && !pages_heap_launch(heap, "get", &job, NULL))
		return false;
	job.askers = pages_plan_free(&heap->space);
	if (!pages_heap_launch(heap, "open", &job, NULL))
		return false;
	return heap->allocator->metadata != PAGES_QUEUE ||
	       pages_heap_launch(heap, "ready", &job, NULL);
}

/* The expected number of used pages. */
static uint64_t taken_wanted(const struct pages_heap *heap, const struct pages_job *job)
{
	const uint64_t free_pages = pages_plan_free(&heap->space);

	return job->word_count > 0 ? heap->space.pages - free_pages : 0;
}

const char *pages_heap_init(struct pages_heap *heap, const struct pages_allocator *allocator,
			    const struct pages_space *space, struct pages_room *room)
{
	static const char no_memory[] = "there is too little memory for its heap";
	const struct pages_cell none = { .lanes = PAGES_WARP };
	struct pages_job job;

	*heap = (struct pages_heap){ .allocator = allocator, .space = *space };
	if (allocator->format == NULL)
		return NULL;
	heap->bytes = (allocator->bytes(space->pages) + 7) / 8 * 8;
	heap->heap = pages_device_take(heap->bytes);
	heap->image = pages_device_take(heap->bytes);
	if (heap->heap == NULL || heap->image == NULL || !put_image(heap)) {
		pages_heap_fini(heap);
		return no_memory;
	}
	pages_heap_ask(heap, room, &none, &job);
	if (space->free_tenths < 1000 && allocator->metadata != PAGES_COUNTER &&
	    !open_pages(heap, room))
		return pages_device_trouble();
	if (!pages_device_copy(heap->image, heap->heap, heap->bytes) || !count_taken(heap, &job))
		return pages_device_trouble();
	if (heap->taken != taken_wanted(heap, &job))
		return "giving a share of its pages back left other pages free than those";
	return NULL;
}

static void complain(struct pages_verdict *verdict, uint64_t count, const char *what)
{
	if (count > 0 && verdict->wrong == 0)
		snprintf(verdict->why, sizeof(verdict->why), "%s: %llu", what,
			 (unsigned long long)count);
	verdict->wrong += count;
}

/* Of warps: the mean over lanes, the maximum over lanes; sums, and sums of squares. */
struct steps {
	double lanes, mean, means, max, mosts;
	uint64_t askers, warps;
};

static void add_warp(struct steps *steps, double sum, uint32_t lanes, uint32_t max)
{
	steps->lanes += sum;
	steps->mean += sum / lanes;
	steps->means += sum / lanes * (sum / lanes);
	steps->max += max;
	steps->mosts += (double)max * max;
	steps->askers += lanes;
	steps->warps++;
}

static void add_steps(struct steps *steps, const uint32_t *of, const struct pages_cell *cell)
{
	uint32_t i, max = 0, lanes = 0;
	double sum = 0;

	for (i = 0; i < cell->askers; i++) {
		sum += of[i];
		max = of[i] > max ? of[i] : max;
		lanes++;
		if (i % cell->lanes == cell->lanes - 1 || i == cell->askers - 1) {
			add_warp(steps, sum, lanes, max);
			sum = 0;
			max = lanes = 0;
		}
	}
}

/* Of a mean of `count`. */
static double standard_error(double sum, double squares, double count)
{
	const double variance = count > 1 ? (squares - sum * sum / count) / (count - 1) : 0;

	return variance > 0 ? sqrt(variance / count) : 0;
}

/* The mean over askers, and over warps of the maximum in each. */
static void compute_steps(const struct steps *steps, struct pages_verdict *verdict)
{
	const double warps = steps->warps > 0 ? (double)steps->warps : 1;

	verdict->tas = steps->lanes / (steps->askers > 0 ? (double)steps->askers : 1);
	verdict->was = steps->max / warps;
	verdict->tas_error = standard_error(steps->mean, steps->means, warps);
	verdict->was_error = standard_error(steps->max, steps->mosts, warps);
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static bool run_check(const char *kernel, const struct pages_job *job)
{
	return pages_device_run(kernel, CHECK_THREADS, job, NULL);
}

/*
 * One pass of the four checks; `take` is the kernel that allocates, with or without counting steps.
 */
static bool check_once(const struct pages_heap *heap, const struct pages_cell *cell,
		       const char *take, const struct pages_job *job, struct pages_verdict *verdict)
{
	const enum pages_metadata metadata = heap->allocator->metadata;
	const char *give = cell->work == PAGES_MALLOC ? "giverun" : "give";
	const bool counts = are_counted(metadata);
	struct pages_found found;

	if (!pages_heap_restore(heap) || !pages_device_fill(job->found, 0, sizeof(found)) ||
	    !pages_device_fill(job->shadow, 0, job->pages * UINT64_C(4)) ||
	    !pages_device_fill(job->got, NEVER_WRITTEN, job->askers * UINT64_C(4)) ||
	    !pages_heap_launch(heap, take, job, NULL) || !run_check("check_mark", job) ||
	    !run_check("check_write", job) || !run_check("check_read", job) ||
	    (counts && !run_check("check_count", job)) ||
	    (metadata != PAGES_COUNTER && !pages_heap_launch(heap, give, job, NULL)) ||
	    (counts && !run_check("check_compare", job)) ||
	    !pages_device_fetch(&found, job->found, sizeof(found)))
		return false;
	verdict->none = found.none > verdict->none ? found.none : verdict->none;
	complain(verdict, found.beyond, "results that are not pages of the heap");
	complain(verdict, found.twice, "pages handed out twice");
	complain(verdict, found.corrupt, "pages written by another than their owner");
	if (counts)
		complain(verdict, apart(found.taken, heap->taken + found.pages),
			 "pages that the heap counts wrongly");
	complain(verdict, found.differ,
		 "words of the heap that freeing everything does not restore");
	return true;
}

/* A kernel that frees what it allocated must leave the heap unchanged. */
static bool check_churn(const struct pages_heap *heap, const struct pages_job *job,
			struct pages_verdict *verdict)
{
	struct pages_found found;

	if (!pages_heap_restore(heap) || !pages_device_fill(job->found, 0, sizeof(found)) ||
	    !pages_heap_launch(heap, "churnrun", job, NULL) || !run_check("check_compare", job) ||
	    !pages_device_fetch(&found, job->found, sizeof(found)))
		return false;
	complain(verdict, found.differ,
		 "words of the heap that freeing everything at once changes");
	return true;
}

/* Passes after the first, with other random searches. */
static bool walk_more(const struct pages_heap *heap, struct pages_room *room,
		      const struct pages_cell *cell, uint32_t walks, struct pages_job *job,
		      struct steps *steps)
{
	for (job->seed = 1; job->seed < PAGES_SEEDS_MAX && steps->askers < walks; job->seed++) {
		if (!pages_heap_restore(heap) || !pages_heap_launch(heap, "steps", job, NULL) ||
		    !pages_device_fetch(room->steps_here, job->steps, job->askers * UINT64_C(4)))
			return false;
		add_steps(steps, room->steps_here, cell);
	}
	job->seed = 0;
	return true;
}

bool pages_heap_check(const struct pages_heap *heap, struct pages_room *room,
		      const struct pages_cell *cell, uint32_t walks, struct pages_verdict *verdict)
{
	const bool runs = cell->work == PAGES_MALLOC;
	struct steps steps = { .lanes = 0 };
	struct pages_job job;

	*verdict = (struct pages_verdict){ .none = 0 };
	pages_heap_ask(heap, room, cell, &job);
	if (!pages_device_fill(job.steps, 0, job.askers * UINT64_C(4)) ||
	    !check_once(heap, cell, runs ? "stepsrun" : "steps", &job, verdict) ||
	    !pages_device_fetch(room->steps_here, job.steps, job.askers * UINT64_C(4)) ||
	    !check_once(heap, cell, runs ? "getrun" : "get", &job, verdict) ||
	    (cell->at_once && are_counted(heap->allocator->metadata) &&
	     !check_churn(heap, &job, verdict)))
		return false;
	add_steps(&steps, room->steps_here, cell);
	if (!runs && verdict->wrong == 0 && !walk_more(heap, room, cell, walks, &job, &steps))
		return false;
	compute_steps(&steps, verdict);
	return true;
}

bool pages_heap_use(const struct pages_heap *heap, struct pages_room *room,
		    const struct pages_cell *cell, struct pages_verdict *verdict, double *ratio)
{
	const double all = (double)heap->space.pages * PAGES_BYTES;
	struct pages_found found = { .none = 0 };
	uint64_t none = 0, round, rounds;
	struct pages_job job;

	*verdict = (struct pages_verdict){ .none = 0 };
	pages_heap_ask(heap, room, cell, &job);
	rounds = 4 * ((uint64_t)job.pages / job.askers + 1); /* more than can succeed */
	if (!pages_heap_restore(heap) || !pages_device_fill(job.found, 0, sizeof(found)) ||
	    !pages_device_fill(job.shadow, 0, job.pages * UINT64_C(4)))
		return false;
	for (round = 0; round < rounds && found.none - none <= job.askers / 100; round++) {
		none = found.none;
		if (!pages_device_fill(job.got, NEVER_WRITTEN, job.askers * UINT64_C(4)) ||
		    !pages_heap_launch(heap, "getrun", &job, NULL) ||
		    !run_check("check_mark", &job) ||
		    !pages_device_fetch(&found, job.found, sizeof(found)))
			return false;
	}
	complain(verdict, found.beyond, "results that are not pages of the heap");
	complain(verdict, found.twice, "pages handed out twice");
	*ratio = (double)found.bytes / all;
	return true;
}
