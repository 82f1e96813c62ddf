/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages_published.cu - the kernels of `mam bench pages` over the published allocators, and over
 * their bounds: the queue, and the bare counters.
 */
#include "bench/papers/walk/bump.h"
#include "bench/papers/walk/bumpw.h"
#include "bench/papers/walk/corw.h"
#include "bench/papers/walk/crw.h"
#include "bench/papers/walk/queue.h"
#include "bench/papers/walk/rw.h"
#include "bench/papers/walk/rwbm.h"
#include "bench/papers/walk/rwmalloc.h"
#include "bench/pages/pages_calls.h"

#define SEED 5 /* arbitrary; the same in every launch */

MAM_KFN void pages_start(struct mam_published_walk *walk, void *heap)
{
	(void)heap;
	mam_published_start(walk, SEED);
}

MAM_KFN bool pages_give_unit(struct mam_rwmalloc *heap, uint32_t page)
{
	return mam_rwmalloc_give(heap, page, 1);
}

#define PUBLISHED(name)                                                            \
	PAGES_ONE(name, struct mam_##name, struct mam_published_walk, pages_start, \
		  mam_##name##_take, mam_##name##_give)                            \
	PAGES_OPEN(name, struct mam_##name, mam_##name##_give)

PUBLISHED(rw)
PUBLISHED(rwbm)
PUBLISHED(crw)
PUBLISHED(corw)
PUBLISHED(queue)
PUBLISHED(bump)
PUBLISHED(bumpw)
PAGES_RUNS(rwmalloc, struct mam_rwmalloc, struct mam_published_walk, pages_start, mam_rwmalloc_take,
	   mam_rwmalloc_give)
PAGES_OPEN(rwmalloc, struct mam_rwmalloc, pages_give_unit)

/* Steps of the queue count from here. By one lane. */
MAM_KFN void pages_mark_queue(const struct pages_job *job)
{
	if (pages_thread() == 0)
		mam_queue_mark((struct mam_queue *)job->heap);
}

PAGES_KERNEL(ready_queue, pages_mark_queue)
