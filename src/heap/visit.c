/* SPDX-License-Identifier: Apache-2.0 */
/*
 * visit.c - a walk over the live objects of a heap, in the order of their addresses (<mam/heap.h>).
 *
 * The books are read piece by piece (survey.h), each in a visit of the driver's of its own: between
 * them, where the caller's function runs, nothing of ours is in force, so that it may do what it
 * likes, with this heap too.
 */
#include "heap/survey.h"

struct visitor {
	bool (*visit)(void *argument, void *address, size_t bytes);
	void *argument;
	const struct mam_heap *heap;
};

/* False: the caller's function has seen enough. */
static bool visit_item(const struct visitor *visitor, const struct mam_survey_item *item)
{
	unsigned char *at = visitor->heap->ground + ((uint64_t)item->unit << MAM_UNIT_SHIFT);
	size_t bytes = item->class_ != 0 ? mam_class_bytes(item->class_)
					 : (size_t)item->units << MAM_UNIT_SHIFT;

	for (uint64_t live = item->live; live != 0; live &= live - 1) {
		unsigned char *object = at + (unsigned int)__builtin_ctzll(live) * bytes;

		if (!visitor->visit(visitor->argument, object, bytes))
			return false;
	}
	return true;
}

/* MAM_OK and *more false: that was all. */
static enum mam_status read_piece(struct mam_survey *survey, struct CUstream_st *stream, bool *more)
{
	struct mam_reach_visit visit;
	enum mam_status status;

	status = mam_reach_begin(&survey->heap->reach, stream, true, &visit);
	if (status != MAM_OK)
		return status;
	*more = mam_survey_read(survey, &visit);
	return mam_reach_end(&visit);
}

static enum mam_status visit_all(struct mam_survey *survey, struct CUstream_st *stream,
				 const struct visitor *visitor)
{
	struct mam_survey_item item;
	enum mam_status status;
	bool more;

	while ((status = read_piece(survey, stream, &more)) == MAM_OK && more)
		while (mam_survey_next(survey, &item))
			if (!visit_item(visitor, &item))
				return MAM_OK;
	return status;
}

enum mam_status mam_heap_walk(struct mam_heap *heap, struct CUstream_st *stream,
			      bool (*visit)(void *argument, void *address, size_t bytes),
			      void *argument)
{
	const struct visitor visitor = { visit, argument, heap };
	struct mam_survey survey;
	enum mam_status status;

	if (!heap || !visit)
		return MAM_ERROR_INVALID_VALUE;
	if (heap->blocks == 0)
		return MAM_ERROR_UNSUPPORTED;
	if (!mam_grant_alive(heap))
		return MAM_ERROR_DESTROYED;
	status = mam_survey_init(&survey, heap);
	if (status != MAM_OK)
		return status;
	status = visit_all(&survey, stream, &visitor);
	mam_survey_fini(&survey);
	return status;
}
