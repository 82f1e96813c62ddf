/* SPDX-License-Identifier: Apache-2.0 */
/*
 * case_mam.cu - the kernels of `mam bench case` over mam's own objects, whose heap itself counts
 * its search steps.
 */
#include "heap/objects/objects.h"

#define CASE_ALLOC(heap, bytes, steps) \
	((void)(steps), mam_objects_alloc((struct mam_kheap *)(heap), bytes))
#define CASE_FREE(heap, object, bytes) \
	((void)(bytes), (void)mam_objects_free((struct mam_kheap *)(heap), object))
#define CASE_LOOKED(heap) case_mam_looked((struct mam_kheap *)(heap))

/* Places that searches have probed since the heap was made. */
MAM_KFN uint64_t case_mam_looked(struct mam_kheap *heap)
{
	uint64_t looks = 0;
	uint32_t i;

	for (i = 0; i <= heap->columns; i++)
		looks += mam_atomic_load64(&heap->steps[i].looks, MAM_RELAXED, MAM_AT_DEVICE);
	return looks;
}

#include "bench/papers/cases/kernels.h"
