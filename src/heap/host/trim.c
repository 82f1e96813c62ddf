/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trim.c - frees unused grants to the pool (<mam/heap.h>).
 *
 * 1. Wait for the stream, and read the grants. If a fetch is still in progress, a kernel uses the
 *    heap, and nothing is done.
 * 2. Keep each grant that has a live object, or a unit that is neither free nor in an idle group.
 * 3. Write the table without the others; requests then start at the last one. Wait for that: after
 *    this no kernel knows them.
 * 4. Free them, and also the grants that are posted but not taken. Add their event counts to the
 *    heap's totals.
 *
 * If 3 fails nothing was freed. If a part of 4 fails, the pool gets the rest at the heap's end.
 */
#include <stdlib.h>
#include <string.h>

#include "heap/host/census.h"
#include "heap/host/table.h"

/* A trim in progress. */
struct trim {
	struct mam_heap *heap;
	struct CUstream_st *stream;
	struct mam_table *table; /* as it was, then as it will be */
	struct mam_grant *back;
	uint32_t backs;            /* count of those */
	struct mam_heap_info gone; /* of those */
	uint64_t bytes;            /* freed so far */
};

/* Step 2 for number `i`. */
static enum mam_status look(struct trim *trim, const struct mam_plot *plot, bool *idle)
{
	struct mam_heap_info info = { 0 };
	enum mam_status status;

	status = mam_census_plot(&trim->heap->reach, trim->stream, plot, &info);
	if (status != MAM_OK)
		return status;
	mam_census_finish(&info);
	*idle = info.objects == 0 && info.moving == 0;
	if (*idle)
		mam_census_gone(&trim->gone, &info);
	return MAM_OK;
}

/* Moves those that stay to the front, in their order. */
static enum mam_status sort_out(struct trim *trim)
{
	struct mam_table *table = trim->table;
	enum mam_status status = MAM_OK;
	struct mam_plot plot;
	uint32_t kept = 0;
	bool idle;

	trim->back = calloc(table->room, sizeof(*trim->back));
	if (!trim->back)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	for (uint32_t i = 0; mam_table_plot(table, i, &plot); i++) {
		status = look(trim, &plot, &idle);
		if (status != MAM_OK)
			return status;
		if (idle) {
			trim->back[trim->backs++] = table->part[i];
		} else {
			table->head[kept] = table->head[i];
			table->part[kept++] = table->part[i];
		}
	}
	memset(&table->head[kept], 0, (table->room - kept) * sizeof(table->head[0]));
	memset(&table->part[kept], 0, (table->room - kept) * sizeof(table->part[0]));
	table->growth.parts.value = kept;
	return MAM_OK;
}

/* Step 3. */
static enum mam_status write_table(const struct trim *trim)
{
	struct mam_copy_visit visit;
	enum mam_status status;

	status = mam_copy_begin(&trim->heap->reach, trim->stream, true, &visit);
	if (status != MAM_OK)
		return status;
	mam_table_write(trim->heap, &visit, trim->table);
	mam_copy_wait(&visit);
	return mam_copy_end(&visit);
}

/* Step 4. */
static enum mam_status give_back(struct trim *trim)
{
	struct mam_heap *heap = trim->heap;
	enum mam_status status, one;

	status = mam_post_retract(heap->post, trim->table->growth.taken, &trim->bytes);
	for (uint32_t i = 0; i < trim->backs; i++) {
		one = mam_post_return(heap->post, trim->back[i].space, &trim->bytes);
		if (status == MAM_OK)
			status = one;
	}
	pthread_mutex_lock(&heap->counting);
	mam_census_add(&heap->gone, &trim->gone);
	pthread_mutex_unlock(&heap->counting);
	return status;
}

static enum mam_status trim_grown(struct trim *trim)
{
	enum mam_status status;

	status = mam_table_read(trim->heap, trim->stream, &trim->table);
	if (status != MAM_OK)
		return status;
	if ((trim->table->growth.stage.value & 0xff) != MAM_STAGE_IDLE)
		status = MAM_ERROR_WOULD_WAIT;
	if (status == MAM_OK)
		status = sort_out(trim);
	if (status == MAM_OK && trim->backs != 0)
		status = write_table(trim);
	if (status == MAM_OK)
		status = give_back(trim);
	free(trim->back);
	free(trim->table);
	return status;
}

enum mam_status mam_heap_trim(struct mam_heap *heap, struct CUstream_st *stream, size_t *freed)
{
	enum mam_status status = MAM_OK;
	struct trim *trim;
	uint64_t bytes = 0;

	if (!heap)
		return MAM_ERROR_INVALID_VALUE;
	if (!mam_grant_alive(heap))
		return MAM_ERROR_DESTROYED;
	if (heap->post) {
		trim = calloc(1, sizeof(*trim));
		if (!trim)
			return MAM_ERROR_OUT_OF_HOST_MEMORY;
		trim->heap = heap;
		trim->stream = stream;
		status = trim_grown(trim);
		bytes = trim->bytes;
		free(trim);
	}
	if (status == MAM_OK && freed)
		*freed = bytes;
	return status;
}
