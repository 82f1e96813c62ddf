/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_calls.h - the kernels of `mam bench pages` that call an allocator.
 *
 * PAGES_ONE(name, ...) makes, of an allocator of single pages,
 *   get_NAME    each asker allocates a page
 *   steps_NAME  the same, and stores the number of steps; another job->seed gives other searches
 *   give_NAME   each asker frees its page
 * PAGES_OPEN(name, ...) makes
 *   open_NAME   frees a number of pages at random places: fragments the heap
 * and PAGES_RUNS(name, ...) getrun_, stepsrun_, giverun_ and churnrun_NAME of one that has runs;
 * the last frees each run in the same kernel. The arguments name types, and the functions to call:
 *   start(walk, heap)   take(heap, walk[, n])   give(heap, page[, n])
 * They are macros because device code has neither templates nor, cheaply, pointers to functions.
 */
#ifndef MAM_TOOLS_BENCH_PAGES_CALLS_H
#define MAM_TOOLS_BENCH_PAGES_CALLS_H

#include "bench/pages/pages_kernels.h"

#define PAGES_ONE(name, type, walk_type, start, take, give)                   \
	MAM_KFN void pages_get_##name(const struct pages_job *job)            \
	{                                                                     \
		type *heap = (type *)job->heap;                               \
		walk_type walk;                                               \
		uint32_t asker;                                               \
                                                                              \
		if (!pages_asks(job, &asker))                                 \
			return;                                               \
		start(&walk, heap);                                           \
		job->got[asker] = take(heap, &walk);                          \
	}                                                                     \
	MAM_KFN void pages_steps_##name(const struct pages_job *job)          \
	{                                                                     \
		type *heap = (type *)job->heap;                               \
		walk_type walk;                                               \
		uint32_t asker;                                               \
                                                                              \
		if (!pages_asks(job, &asker))                                 \
			return;                                               \
		start(&walk, heap);                                           \
		walk.state += bench_mix(job->seed);                           \
		job->got[asker] = take(heap, &walk);                          \
		job->steps[asker] = walk.steps;                               \
	}                                                                     \
	MAM_KFN void pages_give_##name(const struct pages_job *job)           \
	{                                                                     \
		type *heap = (type *)job->heap;                               \
		uint32_t asker;                                               \
                                                                              \
		if (pages_asks(job, &asker) && job->got[asker] != PAGES_NONE) \
			(void)give(heap, job->got[asker]);                    \
	}                                                                     \
	PAGES_KERNEL(get_##name, pages_get_##name)                            \
	PAGES_KERNEL(steps_##name, pages_steps_##name)                        \
	PAGES_KERNEL(give_##name, pages_give_##name)

#define PAGES_OPEN(name, type, give)                                \
	MAM_KFN void pages_open_##name(const struct pages_job *job) \
	{                                                           \
		type *heap = (type *)job->heap;                     \
		uint32_t asker;                                     \
                                                                    \
		if (pages_asks(job, &asker))                        \
			(void)give(heap, pages_opened(job, asker)); \
	}                                                           \
	PAGES_KERNEL(open_##name, pages_open_##name)

#define PAGES_RUNS(name, type, walk_type, start, take, give)                           \
	MAM_KFN void pages_getrun_##name(const struct pages_job *job)                  \
	{                                                                              \
		type *heap = (type *)job->heap;                                        \
		walk_type walk;                                                        \
		uint32_t asker;                                                        \
                                                                                       \
		if (!pages_asks(job, &asker))                                          \
			return;                                                        \
		start(&walk, heap);                                                    \
		job->got[asker] = take(heap, &walk, pages_count_of(job, asker));       \
	}                                                                              \
	MAM_KFN void pages_stepsrun_##name(const struct pages_job *job)                \
	{                                                                              \
		type *heap = (type *)job->heap;                                        \
		walk_type walk;                                                        \
		uint32_t asker;                                                        \
                                                                                       \
		if (!pages_asks(job, &asker))                                          \
			return;                                                        \
		start(&walk, heap);                                                    \
		job->got[asker] = take(heap, &walk, pages_count_of(job, asker));       \
		job->steps[asker] = walk.steps;                                        \
	}                                                                              \
	MAM_KFN void pages_giverun_##name(const struct pages_job *job)                 \
	{                                                                              \
		type *heap = (type *)job->heap;                                        \
		uint32_t asker;                                                        \
                                                                                       \
		if (pages_asks(job, &asker) && job->got[asker] != PAGES_NONE)          \
			(void)give(heap, job->got[asker], pages_count_of(job, asker)); \
	}                                                                              \
	MAM_KFN void pages_churnrun_##name(const struct pages_job *job)                \
	{                                                                              \
		type *heap = (type *)job->heap;                                        \
		walk_type walk;                                                        \
		uint32_t asker, page;                                                  \
                                                                                       \
		if (!pages_asks(job, &asker))                                          \
			return;                                                        \
		start(&walk, heap);                                                    \
		page = take(heap, &walk, pages_count_of(job, asker));                  \
		if (page != PAGES_NONE)                                                \
			(void)give(heap, page, pages_count_of(job, asker));            \
		job->got[asker] = page;                                                \
	}                                                                              \
	PAGES_KERNEL(getrun_##name, pages_getrun_##name)                               \
	PAGES_KERNEL(stepsrun_##name, pages_stepsrun_##name)                           \
	PAGES_KERNEL(giverun_##name, pages_giverun_##name)                             \
	PAGES_KERNEL(churnrun_##name, pages_churnrun_##name)

#endif
