/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_worker.c - the process that uses the device: it makes each heap, runs its cell, and
 * reports the results (device_play.h).
 *
 * The allocators take turns cell by cell, so that noise affects all alike; one that may hang comes
 * last in each cell. A heap is made for each pair of a cell and an allocator: cells do not affect
 * later ones. Nothing starts after the deadline.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "device_play.h"
#include "bench/harness/gpu.h"

#define LAUNCH_REPEATS 21

struct device_play {
	const struct device_request *request;
	const struct device_plan *plan;
	FILE *out;
	void *modules[DEVICE_ALLOCATORS_MAX];
	void *checks;
	uint64_t system_heap; /* bytes of CUDA's own */
	uint64_t *map;
	uint64_t map_bytes;
};

/* A tab or newline in a text would be read as a separator. */
static void put_text(FILE *out, const char *text)
{
	for (; *text != '\0'; text++)
		putc((unsigned char)*text < ' ' ? ' ' : *text, out);
}

static void send(struct device_play *play, char kind, const char *text)
{
	fprintf(play->out, "%c\t", kind);
	put_text(play->out, text);
	putc('\n', play->out);
	fflush(play->out);
}

static void report_row(struct device_play *play, const char *work, const char *name,
		       const char *parameter, const char *metric, double value)
{
	fprintf(play->out, "R\t%s-%s\t%s\t%s\t%s\t%.9g\n", play->request->suite->prefix, work, name,
		parameter, metric, value);
	fflush(play->out);
}

static const struct device_work *work_of(const struct device_run *run,
					 const struct device_cell *cell)
{
	return &run->play->request->suite->works[cell->work];
}

void device_row(struct device_run *run, const struct device_heap *heap,
		const struct device_cell *cell, const char *metric, double value)
{
	report_row(run->play, work_of(run, cell)->name, heap->allocator->name, cell->parameter,
		   metric, value);
}

void device_note(struct device_run *run, const struct device_heap *heap,
		 const struct device_cell *cell, const char *format, ...)
{
	char text[400], sentence[300];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	snprintf(text, sizeof(text), "%s-%s %s: %s: %s", run->play->request->suite->prefix,
		 work_of(run, cell)->name, cell->parameter, heap->allocator->name, sentence);
	send(run->play, 'N', text);
}

void device_ask(const struct device_run *run, const struct device_heap *heap,
		const struct device_cell *cell, struct device_job *job)
{
	*job = (struct device_job){ .heap = heap->heap,
				    .askers = cell->askers,
				    .lanes = cell->lanes,
				    .min = cell->min,
				    .max = cell->max,
				    .rounds = cell->rounds,
				    .got = run->got,
				    .more = run->more,
				    .numbers = run->numbers,
				    .low = heap->low,
				    .high = heap->high,
				    .found = run->found };
}

bool device_launch_as(const struct device_heap *heap, const char *kernel, unsigned int blocks,
		      unsigned int threads, const struct device_job *job, double *us)
{
	char name[64];

	snprintf(name, sizeof(name), "%s of %s", kernel, heap->allocator->name);
	return bench_gpu_run(bench_gpu_kernel(heap->module, kernel), name, blocks, threads, job,
			     us);
}

bool device_launch(const struct device_heap *heap, const char *kernel, const struct device_job *job,
		   double *us)
{
	const uint64_t warps = ((uint64_t)job->askers + job->lanes - 1) / job->lanes;
	const uint64_t threads = warps * DEVICE_WARP;
	char name[64];

	if (heap->block.x > 0) {
		snprintf(name, sizeof(name), "%s of %s", kernel, heap->allocator->name);
		return bench_gpu_run_shape(bench_gpu_kernel(heap->module, kernel), name, heap->grid,
					   heap->block, job, us);
	}
	return device_launch_as(heap, kernel,
				(unsigned int)((threads + DEVICE_BLOCK - 1) / DEVICE_BLOCK),
				DEVICE_BLOCK, job, us);
}

bool device_count_begin(const struct device_run *run)
{
	return bench_gpu_fill(run->found, 0, sizeof(*run->found));
}

bool device_count_end(const struct device_run *run, struct device_found *found)
{
	return bench_gpu_fetch(found, run->found, sizeof(*found));
}

/* ---- the untimed pass ---- */

static bool run_check(const struct device_run *run, const char *kernel,
		      const struct device_job *job)
{
	const unsigned int blocks = 512;

	return bench_gpu_run(bench_gpu_kernel(run->play->checks, kernel), kernel, blocks,
			     DEVICE_BLOCK, job, NULL);
}

static void complain(struct device_verdict *verdict, uint64_t count, const char *what)
{
	if (count > 0 && verdict->wrong == 0)
		snprintf(verdict->why, sizeof(verdict->why), "%s: %llu", what,
			 (unsigned long long)count);
	verdict->wrong += count;
}

/* If the heap's address range is unknown, it is that of its objects. */
static bool find_space(const struct device_run *run, struct device_job *job)
{
	struct device_found found;

	if (job->high != 0)
		return true;
	if (!device_count_begin(run) || !run_check(run, "check_span", job) ||
	    !device_count_end(run, &found))
		return false;
	job->low = found.high > 0 ? ~found.low / DEVICE_GRAIN * DEVICE_GRAIN : 0;
	job->high = found.high;
	return true;
}

/*
 * Makes a map for this range, all zeros. Returns false if memory is short, which is not an error,
 * or on an error.
 */
static bool clear_map(struct device_play *play, struct device_job *job)
{
	const uint64_t bytes = ((job->high - job->low) / DEVICE_GRAIN / 64 + 2) * 8;

	if (play->map_bytes < bytes) {
		bench_gpu_give(play->map);
		play->map = bench_gpu_take(bytes);
		play->map_bytes = play->map != NULL ? bytes : 0;
	}
	job->map = play->map;
	return play->map != NULL && bench_gpu_fill(play->map, 0, bytes);
}

/* The job of the kernels that check another one's objects. */
static bool start_look(const struct device_run *run, const struct device_heap *heap,
		       const struct device_job *job, struct device_job *look)
{
	*look = *job;
	look->low = heap->low;
	look->high = heap->high;
	look->flags = job->max >= 1024 ? DEVICE_WARP : job->max >= 128 ? 8 : 1;
	return find_space(run, look);
}

bool device_look(struct device_run *run, struct device_heap *heap, const struct device_job *job,
		 struct device_verdict *verdict)
{
	struct device_found found;
	struct device_job look;

	if (!start_look(run, heap, job, &look))
		return false;
	if (!clear_map(run->play, &look)) {
		complain(verdict, 1, "cells without memory to check them");
		return bench_gpu_trouble()[0] == '\0';
	}
	if (!device_count_begin(run) || !run_check(run, "check_mark", &look) ||
	    !run_check(run, "check_write", &look) || !run_check(run, "check_read", &look) ||
	    !device_count_end(run, &found))
		return false;
	verdict->none += found.none;
	complain(verdict, found.beyond, "objects are not in the heap");
	complain(verdict, found.twice, "objects overlap others");
	complain(verdict, found.corrupt, "objects were written by another than their owner");
	complain(verdict, found.crooked, "objects are not aligned");
	return true;
}

bool device_look_again(struct device_run *run, struct device_heap *heap,
		       const struct device_job *job, struct device_verdict *verdict)
{
	struct device_found found;
	struct device_job look;

	if (!start_look(run, heap, job, &look) || !device_count_begin(run) ||
	    !run_check(run, "check_read", &look) || !device_count_end(run, &found))
		return false;
	complain(verdict, found.corrupt, "objects changed after the check, while others were used");
	return true;
}

/* ---- the plan ---- */

bool device_plan_is_wanted(const struct device_request *request, const struct device_cell *cell)
{
	return request->wanted[cell->work] && cell->askers <= request->effort.MAX_ASKERS &&
	       (request->effort.fine || !cell->fine);
}

/* Arrays for the largest cell. */
static bool take_room(struct device_run *run, const struct device_plan *plan,
		      const struct device_request *request)
{
	uint64_t askers = 1, i;

	for (i = 0; i < plan->count; i++) {
		const struct device_cell *cell = &plan->cells[i];
		uint64_t max = cell->askers;

		if (!device_plan_is_wanted(request, cell))
			continue;
		if (request->suite->places != NULL)
			max = request->suite->places(cell);
		askers = max > askers ? max : askers;
	}
	run->askers_max = (uint32_t)askers;
	run->got = bench_gpu_take(askers * 8);
	run->more = bench_gpu_take(askers * 8);
	run->numbers = bench_gpu_take(askers * 4);
	run->found = bench_gpu_take(sizeof(*run->found));
	return run->got != NULL && run->more != NULL && run->numbers != NULL && run->found != NULL;
}

/* The possible size of the heap; 0: too small for the cell. */
static uint64_t heap_bytes(const struct device_play *play, const struct device_allocator *allocator,
			   const struct device_cell *cell)
{
	const uint64_t free_bytes = bench_gpu_free_bytes();
	const uint64_t mean = ((uint64_t)cell->min + cell->max) / 2;
	uint64_t bytes = cell->heap_bytes, room;

	if (allocator->role == DEVICE_SYSTEM)
		return bytes < play->system_heap ? bytes : play->system_heap;
	room = free_bytes / 10 * 8;
	bytes = bytes < play->request->effort.heap_max ? bytes : play->request->effort.heap_max;
	bytes = bytes < room ? bytes : room;
	return bytes == cell->heap_bytes || cell->askers * mean <= bytes / 10 * 8 ? bytes : 0;
}

static bool play_pair(struct device_run *run, size_t which, const struct device_cell *cell)
{
	struct device_play *play = run->play;
	const struct device_allocator *allocator = &play->request->allocators[which];
	struct device_heap heap = { .allocator = allocator, .module = play->modules[which] };
	const uint64_t bytes = heap_bytes(play, allocator, cell);
	const char *why;
	bool good;

	if (cell->heap_bytes > 0 && bytes == 0) {
		device_note(run, &heap, cell, "the device has too little free memory for that");
		return true;
	}
	why = allocator->make(&heap, bytes, cell->min == cell->max ? cell->max : 0);
	if (why != NULL) {
		device_note(run, &heap, cell, "%s", why);
		return bench_gpu_trouble()[0] == '\0';
	}
	run->repeats = play->request->effort.repeats;
	if (allocator->slow && run->repeats > play->request->effort.slow_repeats)
		run->repeats = play->request->effort.slow_repeats;
	run->warm = allocator->slow ? 1 : play->request->effort.warm;
	good = work_of(run, cell)->play(run, &heap, cell);
	good = good && bench_gpu_trouble()[0] == '\0';
	if (good)
		allocator->end(&heap);
	return good;
}

/* The launch overhead in every time: an empty kernel. */
static bool time_launches(struct device_run *run)
{
	static const uint32_t threads[] = { 1024, 131072, 1048576 };
	struct device_job job = { .got = run->got };
	double us[LAUNCH_REPEATS];
	char number[24];
	size_t i, k;

	for (k = 0; k < sizeof(threads) / sizeof(threads[0]); k++) {
		for (i = 0; i < LAUNCH_REPEATS; i++) {
			if (!bench_gpu_run(bench_gpu_kernel(run->play->checks, "check_nothing"),
					   "check_nothing", threads[k] / DEVICE_BLOCK, DEVICE_BLOCK,
					   &job, &us[i]))
				return false;
		}
		report_row(run->play, "launch", "empty",
			   device_plan_number(threads[k], number, sizeof(number)), "us",
			   bench_measure_median(us, LAUNCH_REPEATS));
	}
	return true;
}

/* Returns false if the device is lost. */
static bool play_all(struct device_run *run, size_t first, uint64_t deadline)
{
	struct device_play *play = run->play;
	const size_t count = play->request->allocator_count;
	char number[24];
	size_t pair;

	if (first == 0 && !time_launches(run))
		return false;
	for (pair = first; pair < play->plan->count * count; pair++) {
		const struct device_cell *cell = &play->plan->cells[pair / count];
		const size_t which = pair % count;

		if (play->modules[which] == NULL || !play->request->usable[which] ||
		    !device_plan_is_wanted(play->request, cell) ||
		    !play->request->suite->takes_part(&play->request->allocators[which], cell))
			continue;
		if (bench_now() > deadline) {
			send(play, 'L', "");
			break;
		}
		snprintf(number, sizeof(number), "%zu", pair);
		send(play, 'B', number);
		if (!play_pair(run, which, cell))
			return false;
	}
	return true;
}

#ifdef MAM_HAVE_BENCH_KERNELS
extern const unsigned char mam_device_checks_fatbin[];
static const unsigned char *const checks_image = mam_device_checks_fatbin;
#else
static const unsigned char *const checks_image = NULL;
#endif

/* Returns false with one sentence in `why`. */
static bool start(struct device_play *play, bool again, char *why, size_t why_bytes)
{
	char text[320], gpu[100], driver[60];
	size_t i;

	if (checks_image == NULL) {
		snprintf(why, why_bytes,
			 "mam was built without kernels; configure it with a CUDA toolkit and "
			 "--enable-bench-kernels");
		return false;
	}
	play->system_heap = play->request->suite->system_heap < play->request->effort.heap_max
				    ? play->request->suite->system_heap
				    : play->request->effort.heap_max;
	if (!bench_gpu_start(play->system_heap, why, why_bytes))
		return false;
	play->checks = bench_gpu_module(checks_image, why, why_bytes);
	if (play->checks == NULL)
		return false;
	for (i = 0; i < play->request->allocator_count; i++) {
		const struct device_allocator *allocator = &play->request->allocators[i];

		if (!play->request->usable[i] || allocator->make == NULL)
			continue;
		play->modules[i] = bench_gpu_module(allocator->module, why, why_bytes);
		if (play->modules[i] == NULL && !again) {
			snprintf(text, sizeof(text), "%s: %.200s", allocator->name, why);
			send(play, 'N', text);
		}
		/* For those of --adapter, their kernels determine whether they support free. */
		if (play->modules[i] != NULL && allocator->role == DEVICE_ADDED)
			((struct device_allocator *)(uintptr_t)allocator)->frees =
				bench_gpu_kernel(play->modules[i], "give") != NULL;
	}
	if (!again && bench_cuda_facts(gpu, sizeof(gpu), driver, sizeof(driver))) {
		fprintf(play->out, "G\t");
		put_text(play->out, gpu);
		putc('\t', play->out);
		put_text(play->out, driver);
		putc('\n', play->out);
	}
	return true;
}

void device_worker(const struct device_request *request, const struct device_plan *plan,
		   size_t first, uint64_t deadline, int out)
{
	struct device_play play = { .request = request, .plan = plan };
	struct device_run run = { .play = &play };
	char why[240] = "";

	play.out = fdopen(out, "w");
	if (play.out == NULL)
		_exit(1);
	if (!start(&play, first > 0, why, sizeof(why))) {
		send(&play, 'X', why);
	} else if (!bench_gpu_warm()) {
		send(&play, 'X', bench_gpu_trouble());
	} else if (!take_room(&run, plan, request)) {
		send(&play, 'X', "there is too little free memory on the device");
	} else if (!play_all(&run, first, deadline)) {
		send(&play, 'T', bench_gpu_trouble());
	} else {
		send(&play, 'Z', "");
		bench_gpu_stop();
	}
	fflush(NULL);
	_exit(0); /* a kernel may still be running */
}
