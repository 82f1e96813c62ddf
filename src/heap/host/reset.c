/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reset.c - frees everything in a heap (<mam/heap.h>).
 *
 * For a heap that does not grow: fills in the stream's order. For one that grows:
 * 1. wait for the stream, and read the grants and the large objects;
 * 2. clear the metadata of all, and forget the large objects; wait for that;
 * 3. free the blocks of those to the pool: the device no longer refers to them. If 2 fails, the
 *    heap keeps them until another reset, or its end.
 */
#include <stdlib.h>
#include <string.h>

#include "heap/host/clear.h"
#include "heap/host/table.h"

/* Step 2, except for the wait. */
static void clear_parts(const struct mam_heap *heap, struct mam_copy_visit *visit,
			struct mam_table *table)
{
	struct mam_plot plot = mam_grant_plot(heap);

	mam_clear_plot(visit, &plot);
	for (uint32_t i = 0; mam_table_plot(table, i, &plot); i++)
		mam_clear_plot(visit, &plot);
	mam_table_forget(heap, visit, table);
}

static enum mam_status reset_grown(struct mam_heap *heap, struct CUstream_st *stream)
{
	struct mam_table *table = NULL;
	struct mam_copy_visit visit;
	enum mam_status status, end;
	uint64_t bytes = 0;

	status = mam_copy_begin(&heap->reach, stream, true, &visit);
	if (status != MAM_OK)
		return status;
	status = mam_table_copy(heap, &visit, &table);
	if (status == MAM_OK && mam_copy_good(&visit))
		clear_parts(heap, &visit, table);
	mam_copy_wait(&visit);
	end = mam_copy_end(&visit);
	status = status == MAM_OK ? end : status;
	free(table);
	if (status != MAM_OK)
		return status;
	mam_post_clear(heap->post, &bytes);
	pthread_mutex_lock(&heap->counting);
	memset(&heap->gone, 0, sizeof(heap->gone));
	pthread_mutex_unlock(&heap->counting);
	return MAM_OK;
}

enum mam_status mam_heap_reset(struct mam_heap *heap, struct CUstream_st *stream)
{
	struct mam_copy_visit visit;
	enum mam_status status;
	struct mam_plot plot;

	if (!heap)
		return MAM_ERROR_INVALID_VALUE;
	if (!mam_grant_alive(heap))
		return MAM_ERROR_DESTROYED;
	if (heap->post)
		return reset_grown(heap, stream);
	status = mam_copy_begin(&heap->reach, stream, false, &visit);
	if (status != MAM_OK)
		return status;
	if (heap->blocks != 0) {
		plot = mam_grant_plot(heap);
		mam_clear_plot(&visit, &plot);
	} else {
		mam_clear_pages(&visit, mam_grant_metadata(heap), heap->pages);
	}
	return mam_copy_end(&visit);
}
