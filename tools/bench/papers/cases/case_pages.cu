/* SPDX-License-Identifier: Apache-2.0 */
/*
 * case_pages.cu - the kernels of `mam bench case` over mam's pages, for requests of a single size.
 */
#include "heap/pages/head.h"
#include "heap/pages/pages.h"

#define CASE_ALLOC(heap, bytes, steps) case_page_alloc((struct mam_kheap *)(heap), bytes, steps)
#define CASE_FREE(heap, object, bytes) \
	((void)(bytes), case_page_free((struct mam_kheap *)(heap), object))

MAM_KFN void *case_page_alloc(struct mam_kheap *heap, uint32_t bytes, uint32_t *steps)
{
	struct mam_pages *metadata = (struct mam_pages *)(heap + 1);
	struct mam_kwalk walk;
	uint32_t page;

	if (bytes > 1u << heap->shift)
		return NULL;
	mam_kwalk_start(&walk, metadata);
	page = mam_pages_take(metadata, &walk);
	*steps += walk.steps;
	return page == MAM_NO_PAGE ? NULL : heap->space + ((uint64_t)page << heap->shift);
}

MAM_KFN void case_page_free(struct mam_kheap *heap, void *object)
{
	const uint64_t offset = (uint64_t)((unsigned char *)object - heap->space);

	if (object != NULL)
		(void)mam_pages_give((struct mam_pages *)(heap + 1),
				     (uint32_t)(offset >> heap->shift));
}

#include "bench/papers/cases/kernels.h"
