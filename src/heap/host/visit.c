/* SPDX-License-Identifier: Apache-2.0 */
/*
 * visit.c - visits the live objects of a heap (<mam/heap.h>): its own memory, then each grant, each
 * in the order of addresses, then the large objects, which are blocks of the pool.
 *
 * The metadata is read piece by piece (survey.h), each in a driver visit of its own. Between them,
 * while the caller's function runs, no context or capture mode of ours is active, so it may call
 * anything, with this heap too.
 */
#include <stdlib.h>

#include "heap/host/leaks.h"
#include "heap/host/table.h"
#include "heap/host/survey.h"
#include "heap/host/visit.h"

struct visitor {
	bool (*visit)(void *argument, void *address, size_t bytes);
	void *argument;
	const struct mam_copy *reach;
	struct CUstream_st *stream;
	bool enough; /* the caller's function asked to stop */
};

static bool visit_item(struct visitor *visitor, const struct mam_plot *plot,
		       const struct mam_survey_item *item)
{
	unsigned char *at = plot->space + ((uint64_t)item->slab << MAM_UNIT_SHIFT);
	size_t bytes = item->class_ != 0 ? mam_class_bytes(item->class_)
					 : (size_t)item->units << MAM_UNIT_SHIFT;

	for (uint64_t live = item->live; live != 0 && !visitor->enough; live &= live - 1) {
		unsigned char *object = at + (unsigned int)__builtin_ctzll(live) * bytes;

		visitor->enough = !visitor->visit(visitor->argument, object, bytes);
	}
	return !visitor->enough;
}

/* MAM_OK and *more false: that was all. */
static enum mam_status read_piece(const struct visitor *visitor, struct mam_survey *survey,
				  bool *more)
{
	struct mam_copy_visit visit;
	enum mam_status status;

	status = mam_copy_begin(visitor->reach, visitor->stream, true, &visit);
	if (status != MAM_OK)
		return status;
	*more = mam_survey_read(survey, &visit);
	return mam_copy_end(&visit);
}

static enum mam_status visit_pieces(struct visitor *visitor, struct mam_survey *survey)
{
	struct mam_survey_item item;
	enum mam_status status;
	bool more;

	while ((status = read_piece(visitor, survey, &more)) == MAM_OK && more)
		while (mam_survey_next(survey, &item))
			if (!visit_item(visitor, &survey->plot, &item))
				return MAM_OK;
	return status;
}

static enum mam_status visit_plot(struct visitor *visitor, const struct mam_plot *plot)
{
	struct mam_survey survey;
	enum mam_status status = mam_survey_init(&survey, plot);

	if (status != MAM_OK)
		return status;
	status = visit_pieces(visitor, &survey);
	mam_survey_fini(&survey);
	return status;
}

static int compare(const void *one, const void *other)
{
	const struct mam_large *a = one, *b = other;

	return (a->address > b->address) - (a->address < b->address);
}

static enum mam_status visit_large(struct visitor *visitor, const struct mam_heap *heap)
{
	struct mam_table_large live;
	enum mam_status status = mam_table_large(heap, visitor->stream, &live);

	if (status != MAM_OK)
		return status;
	qsort(live.large, live.count, sizeof(live.large[0]), compare);
	for (size_t i = 0; i < live.count && !visitor->enough; i++)
		visitor->enough =
			!visitor->visit(visitor->argument, (void *)(uintptr_t)live.large[i].address,
					live.large[i].bytes);
	free(live.large);
	return MAM_OK;
}

static enum mam_status visit_all(struct visitor *visitor, const struct mam_heap *heap,
				 const struct mam_table *table)
{
	struct mam_plot plot = mam_grant_plot(heap);
	enum mam_status status = visit_plot(visitor, &plot);

	if (!table)
		return status;
	for (uint32_t i = 0; status == MAM_OK && !visitor->enough; i++) {
		if (!mam_table_plot(table, i, &plot))
			break;
		status = visit_plot(visitor, &plot);
	}
	if (status == MAM_OK && !visitor->enough)
		status = visit_large(visitor, heap);
	return status;
}

enum mam_status mam_visit_objects(const struct mam_heap *heap, struct CUstream_st *stream,
				  bool (*visit)(void *argument, void *address, size_t bytes),
				  void *argument)
{
	struct visitor visitor = {
		.visit = visit, .argument = argument, .reach = &heap->reach, .stream = stream
	};
	struct mam_table *table = NULL;
	enum mam_status status = MAM_OK;

	if (heap->post)
		status = mam_table_read(heap, stream, &table);
	if (status == MAM_OK)
		status = visit_all(&visitor, heap, table);
	free(table);
	return status;
}

enum mam_status mam_heap_walk(struct mam_heap *heap, struct CUstream_st *stream,
			      bool (*visit)(void *argument, void *address, size_t bytes),
			      void *argument)
{
	if (!heap || !visit)
		return MAM_ERROR_INVALID_VALUE;
	if (heap->blocks == 0)
		return MAM_ERROR_UNSUPPORTED;
	if (!mam_grant_alive(heap))
		return MAM_ERROR_DESTROYED;
	return heap->debug ? mam_leaks_walk(heap, stream, visit, argument)
			   : mam_visit_objects(heap, stream, visit, argument);
}
