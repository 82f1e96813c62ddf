/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count.c - a heap's statistics: the census of its own memory and of each grant, the events in
 * grants that are gone, and the counts of the mailbox.
 */
#include <stdlib.h>

#include "base/sized.h"
#include "heap/host/census.h"
#include "heap/host/create.h"
#include "heap/host/table.h"

/* Objects that are blocks of the pool, as kernels know them. */
static enum mam_status count_large(const struct mam_heap *heap, struct CUstream_st *stream,
				   struct mam_heap_info *info)
{
	struct mam_table_large live;
	enum mam_status status = mam_table_large(heap, stream, &live);

	if (status != MAM_OK)
		return status;
	info->host_objects = live.count;
	for (size_t i = 0; i < live.count; i++)
		info->host_bytes += live.large[i].bytes;
	info->large_objects += info->host_objects;
	info->large_bytes += info->host_bytes;
	free(live.large);
	return MAM_OK;
}

static void report_mail(const struct mam_heap *heap, struct mam_heap_info *info)
{
	struct mam_post_counts counts = { 0 };

	mam_post_count(heap->post, &counts);
	info->space_bytes += counts.posted_bytes + counts.large_bytes + counts.table_bytes;
	info->asks = counts.asks;
	info->refusals = counts.refusals;
	/* Kernels and the service may have continued since the table was read. */
	if (counts.posted > info->grants)
		info->spare_grants = counts.posted - info->grants;
	if (counts.posted_bytes > info->grant_bytes)
		info->spare_bytes = counts.posted_bytes - info->grant_bytes;
}

static enum mam_status count_plot(const struct mam_heap *heap, struct CUstream_st *stream,
				  const struct mam_plot *plot, struct mam_heap_info *info)
{
	struct mam_heap_info one = { 0 };
	enum mam_status status = mam_census_plot(&heap->reach, stream, plot, &one);

	if (status == MAM_OK)
		mam_census_add(info, &one);
	return status;
}

static enum mam_status count_growth(struct mam_heap *heap, struct CUstream_st *stream,
				    struct mam_heap_info *info)
{
	struct mam_table *table;
	enum mam_status status = mam_table_read(heap, stream, &table);
	struct mam_plot plot;

	if (status != MAM_OK)
		return status;
	for (uint32_t i = 0; status == MAM_OK && mam_table_plot(table, i, &plot); i++) {
		info->grants++;
		info->grant_bytes += mam_plot_bytes(&plot);
		status = count_plot(heap, stream, &plot, info);
	}
	free(table);
	if (status == MAM_OK)
		status = count_large(heap, stream, info);
	pthread_mutex_lock(&heap->counting);
	mam_census_add(info, &heap->gone);
	pthread_mutex_unlock(&heap->counting);
	report_mail(heap, info);
	return status;
}

static enum mam_status count_all(struct mam_heap *heap, struct CUstream_st *stream,
				 struct mam_heap_info *info)
{
	const struct mam_plot plot = mam_grant_plot(heap);
	enum mam_status status;

	if (heap->blocks == 0)
		return mam_census_pages(&heap->reach, stream, mam_grant_metadata(heap), heap->pages,
					info);
	status = count_plot(heap, stream, &plot, info);
	if (status == MAM_OK && heap->post)
		status = count_growth(heap, stream, info);
	mam_census_finish(info);
	return status;
}

enum mam_status mam_heap_stats(struct mam_heap *heap, struct CUstream_st *stream,
			       struct mam_heap_info *stats)
{
	struct mam_heap_info full = { 0 };
	enum mam_status status;

	if (!heap || !mam_sized_can_hold(stats, sizeof(*stats)))
		return MAM_ERROR_INVALID_VALUE;
	if (!mam_grant_alive(heap))
		return MAM_ERROR_DESTROYED;
	full.space_bytes = heap->space_bytes;
	full.page_bytes = (uint64_t)1 << heap->shift;
	status = count_all(heap, stream, &full);
	if (status == MAM_OK)
		mam_sized_write(stats, &full, sizeof(full));
	return status;
}
