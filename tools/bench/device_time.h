/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_time.h - what works of `mam bench device` do alike: a kernel that counts, a kernel that is
 * timed so many times, and the verdict of an untimed pass.
 */
#ifndef MAM_TOOLS_BENCH_DEVICE_TIME_H
#define MAM_TOOLS_BENCH_DEVICE_TIME_H

#include "device_bench.h"
#include "device_job.h"

/* device_time_repeats - fewer of those that are slow */
unsigned int device_time_repeats(const struct device_run *run, const struct device_heap *heap);
/* device_time_renew - before a kernel that takes: what cannot be given back is taken away */
bool device_time_renew(struct device_heap *heap);
/* device_time_check - a round of get and give whose objects are looked at; the times may be NULL */
bool device_time_check(struct device_run *run, struct device_heap *heap,
		       const struct device_job *job, struct device_verdict *verdict, double *get,
		       double *give);
/* device_time_count - a kernel, once, and what it counted */
bool device_time_count(struct device_run *run, const struct device_heap *heap, const char *kernel,
		       const struct device_job *job, struct device_found *found);
/* device_time_median - of a kernel that takes; `undo` gives back, NULL: nothing does */
bool device_time_median(struct device_run *run, struct device_heap *heap, const char *kernel,
			const char *undo, const struct device_job *job, double *us);
/* device_time_is_right - rows of the verdict; false: `wrong` is not 0, and a note says so */
bool device_time_is_right(struct device_run *run, const struct device_heap *heap,
			  const struct device_cell *cell, uint64_t none, uint64_t wrong,
			  const char *why);
/* device_time_note_none - where `none` requests of timed kernels got nothing */
void device_time_note_none(struct device_run *run, const struct device_heap *heap,
			   const struct device_cell *cell, uint64_t none);

#endif
