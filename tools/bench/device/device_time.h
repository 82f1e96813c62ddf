/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_time.h - steps that the works of `mam bench device` share: a kernel that counts, a kernel
 * that is timed repeatedly, and the verdict of an untimed pass.
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
/* device_time_note_none - add a note if `none` requests of timed kernels failed */
void device_time_note_none(struct device_run *run, const struct device_heap *heap,
			   const struct device_cell *cell, uint64_t none);

#endif
