/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alias.c - the steps of alias.h.
 *
 * move:    1. Under the lock: join the piece, which the request's stream freed in one or several
 *             parts and of which some may be free, in the stream's list; cut it out of there, and
 *             its destination out of an unmapped one; both are MOVING.
 *          2. Without the lock: the source maps the piece at the second address.
 *          3. Under the lock: the old address is LEAVING, without a fence yet; the new one joins the
 *             stream's free list. If that list ended meanwhile, its fence has passed, and the new
 *             one is free.
 * seal:    record one fence for all that the request let go. It is recorded after step 1, so it
 *          covers all work on memory that was freed by then. Old addresses of one fence are a group.
 * collect: query the fences, the oldest one of each stream first; unmap the groups that have passed.
 *
 * If the table of groups is full, old addresses join the newest group of the same stream, whose
 * fence is recorded anew.
 *
 * While a piece moves, its stream free list counts it (`moving`), so that the list does not end as
 * an empty one would.
 *
 * Bound: one source call for each piece that moves and each address that leaves; pick checks each
 * segment of a unit or more that the stream freed, and in each list SMALL_MAX smaller ones: together
 * with free memory beside them, these may be whole pieces.
 */
#include "pool/alias.h"

#include "base/clock.h"
#include "index/addrtree.h"
#include "pool/streamlist.h"
#include "source/source.h"

#define SMALL_MAX 128 /* segments of a list that are smaller than a unit and are checked */
#define SPARE_RECORDS (6 * MAM_SEGMENT_RECORDS) /* three cuts, each with two */

static bool is_offered(const struct mam_pool *pool, const struct mam_request *request)
{
	return mam_streamlist_is_offered_locked(pool, request);
}

static struct mam_leaving *group_of_stream(struct mam_range *range,
					   const struct mam_alias_fence *fence)
{
	for (uint32_t i = range->leaving_count; i-- != 0;)
		if (range->leaving[i].fence.event != NULL &&
		    range->leaving[i].fence.stream == fence->stream &&
		    range->leaving[i].fence.thread == fence->thread &&
		    range->leaving[i].fence.id == fence->id)
			return &range->leaving[i];
	return NULL;
}

bool mam_alias_may(struct mam_pool *pool, const struct mam_request *request)
{
	return pool->fences != NULL && request->order != NULL && request->list != 0 &&
	       mam_source_has_aliases(pool->source) && !mam_remap_would_wait(pool) &&
	       pool->range->leaving_count < MAM_LEAVING_MAX - 1 &&
	       pool->fences->may(pool, request->order);
}

/*
 * Call `see` for the memory that the request's stream freed, in stretches: each segment, and each
 * piece that crosses a bound of one and has no other memory than free memory and that of the stream.
 */
struct visit {
	void (*see)(struct visit *visit, const struct mam_pieces *pieces, unsigned part,
		    const struct mam_piece *run);
	uint64_t keep_from, keep_to, want, max, sum;
	struct mam_free_piece best;
};

static void visit_segment(const struct mam_pool *pool, uint32_t handle, uint32_t newest,
			  unsigned part, struct visit *visit)
{
	const struct mam_segment *segment = mam_segment_at(&pool->segments, handle);
	const struct mam_pieces *pieces = &pool->range->part[part].pieces;
	struct mam_piece run = { segment->base, segment->bytes };
	struct mam_piece low = mam_pieces_at(pieces, segment->base);
	struct mam_piece high = mam_pieces_at(pieces, mam_segment_end(segment) - 1);

	if (low.base < segment->base && mam_streamlist_covers_locked(pool, handle, newest, &low))
		visit->see(visit, pieces, part, &low);
	visit->see(visit, pieces, part, &run);
	if (high.base >= segment->base && high.base + high.bytes > mam_segment_end(segment) &&
	    mam_streamlist_covers_locked(pool, handle, newest, &high))
		visit->see(visit, pieces, part, &high);
}

static void visit_list(const struct mam_pool *pool, uint32_t list, uint32_t newest, unsigned part,
		       struct visit *visit)
{
	const struct mam_freelists *freelists = &mam_streamlist_at(pool, list)->freelists[part];
	uint64_t unit = (uint64_t)1 << pool->range->part[part].pieces.unit_shift;
	uint32_t first = mam_freelists_largest(freelists, &pool->segments);
	int small = 0;

	while (first != 0) {
		uint64_t bytes = mam_segment_at(&pool->segments, first)->bytes;

		for (uint32_t at = first; at != 0;
		     at = mam_segment_at(&pool->segments, at)->peer_next) {
			if (bytes < unit && small++ == SMALL_MAX)
				return;
			visit_segment(pool, at, newest, part, visit);
		}
		first = mam_freelists_below(freelists, &pool->segments, bytes);
	}
}

static void visit_all(const struct mam_pool *pool, const struct mam_request *request,
		      struct visit *visit)
{
	uint32_t list = request->list;

	for (; list != 0; list = mam_streamlist_at(pool, list)->older)
		for (unsigned part = 0; part < MAM_RANGE_PARTS; part++)
			visit_list(pool, list, request->list, part, visit);
}

static void add_bytes(struct visit *visit, const struct mam_pieces *pieces, unsigned part,
		      const struct mam_piece *run)
{
	(void)part;
	visit->sum += mam_pieces_whole(pieces, run->base, run->base + run->bytes);
}

uint64_t mam_alias_bytes_locked(const struct mam_pool *pool, const struct mam_request *request)
{
	struct visit visit = { .see = add_bytes };

	if (is_offered(pool, request))
		visit_all(pool, request, &visit);
	return visit.sum;
}

static void choose(struct visit *visit, const struct mam_pieces *pieces, unsigned part,
		   const struct mam_piece *run)
{
	uint64_t from = run->base, end = run->base + run->bytes;
	struct mam_piece piece;

	if (run->base < visit->keep_to && visit->keep_from < end)
		return;
	for (; mam_pieces_first(pieces, from, end, &piece); from = piece.base + piece.bytes)
		mam_remap_prefer(&visit->best, part, &piece, visit->want, visit->max);
}

bool mam_alias_pick(struct mam_pool *pool, const struct mam_request *request,
		    const struct mam_edge *edge, uint64_t want, uint64_t max,
		    struct mam_free_piece *found)
{
	struct visit visit = { .see = choose,
			       .keep_from = edge->keep_from,
			       .keep_to = edge->keep_to,
			       .want = want,
			       .max = max };

	mam_lock_take(&pool->lock);
	if (is_offered(pool, request))
		visit_all(pool, request, &visit);
	mam_pool_unlock(pool);
	*found = visit.best;
	return visit.best.piece.bytes != 0;
}

struct seized {
	uint32_t from, to; /* segments, MOVING */
};

static enum mam_status seize(struct mam_pool *pool, const struct mam_request *request,
			     const struct mam_piece *from, const struct mam_piece *to,
			     struct seized *seized)
{
	uint64_t end = from->base + from->bytes;
	uint32_t source, unmapped;
	enum mam_status status;

	if (!is_offered(pool, request))
		return MAM_ERROR_WOULD_WAIT;
	status = mam_records_reserve(&pool->segments, SPARE_RECORDS);
	if (status != MAM_OK)
		return status;
	unmapped = mam_addrtree_find(&pool->segments, pool->by_address, to->base);
	if ((pool->unfenced && pool->source->ops->quiesce != NULL) || unmapped == 0 ||
	    mam_segment_at(&pool->segments, unmapped)->state != MAM_SEGMENT_UNMAPPED ||
	    mam_segment_end(mam_segment_at(&pool->segments, unmapped)) < to->base + to->bytes ||
	    !mam_streamlist_gather_locked(pool, request->list, from->base, end))
		return MAM_ERROR_WOULD_WAIT;
	source = mam_addrtree_find(&pool->segments, pool->by_address, from->base);
	seized->from = mam_streamlist_cut_locked(pool, source, from->base, end);
	mam_segment_at(&pool->segments, seized->from)->state = MAM_SEGMENT_MOVING;
	seized->to = mam_space_carve_locked(pool, unmapped, to->base, to->base + to->bytes);
	mam_segment_at(&pool->segments, seized->to)->state = MAM_SEGMENT_MOVING;
	mam_streamlist_at(pool, request->list)->moving++;
	return MAM_OK;
}

/* Memory joins the stream's free list; without that list the stream's fence has passed. */
static void give(struct mam_pool *pool, const struct mam_request *request, uint32_t handle)
{
	if (is_offered(pool, request))
		mam_streamlist_adopt_locked(pool, handle, request->list);
	else
		mam_space_become_locked(pool, handle, MAM_SEGMENT_FREE);
}

static void finish(struct mam_pool *pool, const struct mam_request *request,
		   const struct seized *seized, struct mam_edge *edge,
		   const struct mam_free_piece *from, const struct mam_piece *to)
{
	struct mam_range *range = pool->range;
	struct mam_segment *old = mam_segment_at(&pool->segments, seized->from);

	mam_pieces_put(&range->part[edge->part].pieces, to->base, to->bytes);
	mam_pieces_link(mam_range_pieces, range, from->piece.base, to->base);
	pool->counts.remaps++;
	old->state = MAM_SEGMENT_LEAVING;
	old->leaving_next = range->unsealed;
	range->unsealed = seized->from;
	mam_edge_advance(edge, to->bytes);
	give(pool, request, seized->to);
}

enum mam_status mam_alias_move(struct mam_pool *pool, const struct mam_request *request,
			       struct mam_edge *edge, const struct mam_free_piece *from)
{
	struct mam_piece to = mam_edge_place(edge, from->piece.bytes);
	struct seized seized = { 0 };
	enum mam_status status;
	uint64_t began, ended;

	mam_lock_take(&pool->lock);
	status = seize(pool, request, &from->piece, &to, &seized);
	mam_pool_unlock(pool);
	if (status != MAM_OK)
		return status;
	began = mam_clock_ns();
	status = mam_source_alias(pool->source, (void *)(uintptr_t)from->piece.base, to.bytes,
				  (void *)(uintptr_t)to.base);
	ended = mam_clock_ns();
	mam_lock_take(&pool->lock);
	mam_pool_called_locked(pool, ended - began);
	if (is_offered(pool, request)) /* otherwise the record may be another list's */
		mam_streamlist_at(pool, request->list)->moving--;
	if (status == MAM_OK) {
		finish(pool, request, &seized, edge, from, &to);
	} else {
		mam_remap_leave_locked(pool, seized.to, status);
		give(pool, request, seized.from);
	}
	mam_pool_prove_locked(pool);
	mam_pool_unlock(pool);
	return status;
}

/* Append segments to a group. */
static void append(struct mam_pool *pool, struct mam_leaving *group, uint32_t first)
{
	uint32_t last = first;

	while (mam_segment_at(&pool->segments, last)->leaving_next != 0)
		last = mam_segment_at(&pool->segments, last)->leaving_next;
	mam_segment_at(&pool->segments, last)->leaving_next = group->first;
	group->first = first;
}

void mam_alias_seal(struct mam_pool *pool, const struct mam_request *request)
{
	struct mam_range *range = pool->range;
	struct mam_alias_fence fence = { 0 };
	struct mam_leaving *group;
	bool full = range->leaving_count >= MAM_LEAVING_MAX / 2;

	if (range->unsealed == 0)
		return;
	if (!pool->fences->record(pool, request->order, &fence))
		fence = (struct mam_alias_fence){ 0 };
	mam_lock_take(&pool->lock);
	group = full && fence.event != NULL ? group_of_stream(range, &fence) : NULL;
	if (group == NULL && range->leaving_count < MAM_LEAVING_MAX) {
		group = &range->leaving[range->leaving_count++];
		*group = (struct mam_leaving){ 0, fence };
		fence.event = NULL;
	} else if (group != NULL) { /* of the same stream: the later fence covers both */
		struct mam_alias_fence earlier = group->fence;

		group->fence = fence;
		fence = earlier;
	}
	if (group != NULL) {
		append(pool, group, range->unsealed);
		range->unsealed = 0;
	}
	mam_pool_unlock(pool);
	if (fence.event != NULL)
		pool->fences->drop(pool, &fence);
}

/* Unmap one old address; false: the source refused, and it stays. */
static bool unmap(struct mam_pool *pool, uint32_t handle)
{
	struct mam_segment *segment;
	uint64_t base, bytes, began, ended;
	enum mam_status status;

	mam_lock_take(&pool->lock);
	segment = mam_segment_at(&pool->segments, handle);
	base = segment->base;
	bytes = segment->bytes;
	mam_pool_unlock(pool);
	began = mam_clock_ns();
	status = mam_source_unalias(pool->source, (void *)(uintptr_t)base, bytes);
	ended = mam_clock_ns();
	mam_lock_take(&pool->lock);
	mam_pool_called_locked(pool, ended - began);
	mam_pool_unlock(pool);
	return status == MAM_OK;
}

/* Unmap a group from its first segment on. False: some are left. */
static bool unmap_group(struct mam_pool *pool, struct mam_leaving *group)
{
	while (group->first != 0) {
		uint32_t handle = group->first;
		struct mam_segment *segment;
		uint64_t base;
		unsigned part;

		if (!unmap(pool, handle))
			return false;
		mam_lock_take(&pool->lock);
		segment = mam_segment_at(&pool->segments, handle);
		base = segment->base;
		part = mam_range_part_at(pool->range, segment);
		group->first = segment->leaving_next;
		mam_pieces_unlink(mam_range_pieces, pool->range, base);
		mam_pieces_take(&pool->range->part[part].pieces, base);
		mam_space_become_locked(pool, handle, MAM_SEGMENT_UNMAPPED);
		mam_pool_prove_locked(pool);
		mam_pool_unlock(pool);
	}
	return true;
}

/* Whether an older group waits for the same stream: then this one's fence has not passed either. */
static bool is_after_pending(const struct mam_range *range, uint32_t i)
{
	const struct mam_alias_fence *fence = &range->leaving[i].fence;

	while (i-- != 0)
		if (range->leaving[i].fence.event != NULL &&
		    range->leaving[i].fence.id == fence->id &&
		    range->leaving[i].fence.stream == fence->stream &&
		    range->leaving[i].fence.thread == fence->thread)
			return true;
	return false;
}

static bool has_passed(struct mam_pool *pool, uint32_t i)
{
	const struct mam_alias_fence *fence = &pool->range->leaving[i].fence;

	return fence->event != NULL && !is_after_pending(pool->range, i) &&
	       pool->fences->passed(pool, fence);
}

void mam_alias_collect(struct mam_pool *pool, bool all)
{
	struct mam_range *range = pool->range;
	uint32_t kept = 0, count = range->leaving_count;

	if (all && range->unsealed != 0 && count < MAM_LEAVING_MAX) {
		mam_lock_take(&pool->lock);
		range->leaving[count++] = (struct mam_leaving){ .first = range->unsealed };
		range->leaving_count = count;
		range->unsealed = 0;
		mam_pool_unlock(pool);
	}
	for (uint32_t i = 0; i < count; i++) {
		struct mam_alias_fence none = { 0 };

		if ((all || has_passed(pool, i)) && unmap_group(pool, &range->leaving[i])) {
			if (range->leaving[i].fence.event != NULL)
				pool->fences->drop(pool, &range->leaving[i].fence);
			range->leaving[i].fence = none;
		}
	}
	mam_lock_take(&pool->lock);
	for (uint32_t i = 0; i < count; i++)
		if (range->leaving[i].first != 0)
			range->leaving[kept++] = range->leaving[i];
	range->leaving_count = kept;
	mam_pool_unlock(pool);
}

void mam_alias_end(struct mam_pool *pool)
{
	struct mam_range *range = pool->range;

	for (uint32_t i = 0; i < range->leaving_count; i++)
		if (range->leaving[i].fence.event != NULL)
			pool->fences->drop(pool, &range->leaving[i].fence); /* then it is NULL */
}

/* Of the addresses of one piece, exactly one is not leaving, and all have one size. */
static const char *check_ring(const struct mam_pool *pool, const struct mam_segment *segment)
{
	uint64_t at = segment->base;
	unsigned current = 0;

	do {
		const uint64_t *next = mam_pieces_twin(mam_range_pieces, pool->range, at);
		uint32_t handle = mam_addrtree_find(&pool->segments, pool->by_address, at);

		if (next == NULL || *next == 0 || handle == 0)
			return "a leaving address is the only one of its memory";
		current += mam_segment_at(&pool->segments, handle)->state != MAM_SEGMENT_LEAVING;
		at = *next;
	} while (at != segment->base);
	return current == 1 ? NULL : "a piece of memory does not have one current address";
}

static const char *check_group(const struct mam_pool *pool, uint32_t at, uint64_t *left)
{
	const char *fault = NULL;

	for (; at != 0 && fault == NULL; at = mam_segment_at(&pool->segments, at)->leaving_next) {
		const struct mam_segment *segment = mam_segment_at(&pool->segments, at);

		if (segment->state != MAM_SEGMENT_LEAVING || (*left)-- == 0)
			fault = "a group of leaving addresses is damaged";
		else if (!mam_pieces_tile(
				 &pool->range->part[mam_range_part_at(pool->range, segment)].pieces,
				 segment->base, mam_segment_end(segment)))
			fault = "a leaving address is not mapped";
		else
			fault = check_ring(pool, segment);
	}
	return fault;
}

const char *mam_alias_fault_locked(const struct mam_pool *pool, uint64_t leaving)
{
	const char *fault = check_group(pool, pool->range->unsealed, &leaving);

	for (uint32_t i = 0; i < pool->range->leaving_count && fault == NULL; i++)
		fault = check_group(pool, pool->range->leaving[i].first, &leaving);
	if (fault == NULL && leaving != 0)
		fault = "a leaving address is in no group";
	return fault;
}
