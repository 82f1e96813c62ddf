/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_time.h - steps that the works of `mam bench device` share: a kernel that counts, a kernel
 * that is timed repeatedly, the verdict of an untimed pass, and the address ranges of objects.
 */
#ifndef MAM_TOOLS_BENCH_DEVICE_TIME_H
#define MAM_TOOLS_BENCH_DEVICE_TIME_H

#include "device_bench.h"
#include "device_job.h"

/* device_time_repeats - fewer for slow allocators */
unsigned int device_time_repeats(const struct device_run *run, const struct device_heap *heap);
/* device_time_renew - before a kernel that allocates: reset an allocator that cannot free */
bool device_time_renew(struct device_heap *heap);
/*
 * device_time_check - run a round of get and give whose objects are checked; the times may be NULL
 */
bool device_time_check(struct device_run *run, struct device_heap *heap,
		       const struct device_job *job, struct device_verdict *verdict, double *get,
		       double *give);
/* device_time_count - run a kernel once, and fetch its counters */
bool device_time_count(struct device_run *run, const struct device_heap *heap, const char *kernel,
		       const struct device_job *job, struct device_found *found);
/* device_time_median - time a kernel that allocates; `undo` frees, NULL: nothing does */
bool device_time_median(struct device_run *run, struct device_heap *heap, const char *kernel,
			const char *undo, const struct device_job *job, double *us);
/* device_time_is_right - add rows of the verdict; returns false with a note if `wrong` is not 0 */
bool device_time_is_right(struct device_run *run, const struct device_heap *heap,
			  const struct device_cell *cell, uint64_t none, uint64_t wrong,
			  const char *why);
/*
 * device_time_verdict - the same with a verdict; `may_fail`: failed requests end the work, and have
 * no row
 */
bool device_time_verdict(struct device_run *run, const struct device_heap *heap,
			 const struct device_cell *cell, const struct device_verdict *verdict,
			 bool may_fail);
/* device_time_note_none - add a note if `none` requests of timed kernels failed */
void device_time_note_none(struct device_run *run, const struct device_heap *heap,
			   const struct device_cell *cell, uint64_t none);

/* An object's address range. */
struct device_extent {
	uint64_t first, end;
};

struct device_extents {
	struct device_extent *of; /* allocated; NULL: host memory ran out */
	size_t count;
};

/*
 * device_extents_fetch - fetch the ranges of the objects in job->got, whose bytes are in
 * job->numbers, in address order. The caller frees extents->of. Returns false, with nothing to
 * free, if the device failed.
 */
bool device_extents_fetch(const struct device_job *job, struct device_extents *extents);
/* device_extents_bytes - the total size of all */
uint64_t device_extents_bytes(const struct device_extents *extents);
/*
 * device_extents_room - how many objects of this size fit between low and high without touching
 * those, at addresses that are multiples of DEVICE_GRAIN
 */
uint64_t device_extents_room(const struct device_extents *extents, uint64_t low, uint64_t high,
			     uint64_t bytes);

#endif
