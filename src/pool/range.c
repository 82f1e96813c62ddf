/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range.c - growth on a source that maps memory in pieces (range.h).
 *
 * A request that no free block fits:
 *   1. Choose an edge: that of the largest free block with enough unmapped addresses beside it for
 *      the missing bytes, if the available bytes suffice to fill it; otherwise a place in an
 *      unmapped segment. For a stream's request, memory that the stream freed counts like a free
 *      block (streamlist.h).
 *   2. Add the missing bytes piece by piece: move free pieces there as long as new memory is not in
 *      the budget (growth_policy.h), then map new ones. A free piece that is much too large is released
 *      to the driver, and smaller ones are made of its bytes. Small requests add more bytes than
 *      they lack. A piece moves here only if that needs no wait for the GPU: a kernel may be
 *      waiting for the thread that allocates. After a free without a wait (the stream policy) new
 *      memory is mapped instead, beyond the budget: replayed traces of gnn, gpt2 and resnet50 then
 *      hold 1.21, 1.10 and 1.02 times their live bytes instead of 1.01, 1.02 and 1.01. For a
 *      stream's request, pieces of memory that the stream freed are mapped at the edge as well as
 *      at their old address (alias.h): whatever work uses them, nothing waits. Above the pool's
 *      footprint, memory that other streams freed joins that of the stream before new memory is
 *      mapped: the stream waits for them on the GPU. The budget does not depend on the footprint:
 *      one stream has nothing to gain from moving pieces earlier.
 *   3. If the driver has no more memory, or the limit is reached: move free pieces whatever the
 *      budget is, after a wait if needed.
 *   4. If there are none that fit: release a free piece that is wider than the unmapped addresses
 *      at the edge.
 *   5. Allocate the block. If another thread was faster, begin again, a bounded number of times. If
 *      the driver had less than the budget allows, try once more, with no more than the missing
 *      bytes and free pieces first.
 *
 * Threads that may not wait (prompt.c) use new memory alone: at the free block that lacks the
 * fewest bytes, in pieces as large as these bytes, as a kernel waits for each call. While a kernel
 * ran on an H100, 64 MiB took 0.9 ms in one piece and 7 to 9 ms in eight.
 *
 * Bound: one source call for each missing piece; the choice checks EDGES free blocks for an edge, and
 * the ends of each free block for its pieces.
 */
#include "pool/range.h"

#include <stdlib.h>

#include "base/bits.h"
#include "base/log.h"
#include "index/addrtree.h"
#include "pool/alias.h"
#include "pool/grow.h"
#include "pool/growth_policy.h"
#include "pool/streamlist.h"
#include "pool/remap.h"
#include "source/source.h"

#define ATTEMPTS 16
#define EDGES 256           /* free blocks that are checked for an edge */
#define RANGES_PER_MEMORY 4 /* addresses of a part, in multiples of device memory */
#define TOO_LARGE ((uint64_t)8 << 20)

static uint64_t unit_of(const struct mam_pool *pool)
{
	return pool->source->properties.granularity;
}

static uint64_t min_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Make one unmapped address range. While addresses are short, retry with half the size. */
static enum mam_status make_part(struct mam_pool *pool, struct mam_range_part *part, uint64_t bytes,
				 uint64_t min)
{
	enum mam_status status = mam_records_reserve(&pool->chunks, 1);
	struct mam_segment *segment;
	struct mam_chunk *chunk;
	uint32_t handle;
	void *base = NULL;

	if (status == MAM_OK)
		status = mam_records_reserve(&pool->segments, MAM_SEGMENT_RECORDS);
	if (status == MAM_OK)
		status = mam_freelists_init(&part->free_blocks, pool->config.granule);
	if (status == MAM_OK)
		status = mam_freelists_init(&part->unmapped, pool->config.granule);
	if (status != MAM_OK)
		return status;
	while ((status = mam_source_grow(pool->source, bytes, &base)) == MAM_ERROR_OUT_OF_MEMORY &&
	       bytes / 2 >= min)
		bytes = mam_round_up(bytes / 2, unit_of(pool));
	if (status != MAM_OK)
		return status;
	status = mam_pieces_init(&part->pieces, (uintptr_t)base, bytes, unit_of(pool));
	if (status != MAM_OK) {
		(void)mam_source_shrink(pool->source, base, bytes);
		return status;
	}

	part->chunk = mam_records_take(&pool->chunks);
	handle = mam_records_take(&pool->segments);
	chunk = mam_chunk_at(&pool->chunks, part->chunk);
	*chunk = (struct mam_chunk){ .base = (uintptr_t)base, .bytes = bytes, .last = handle };
	chunk->older = pool->newest_chunk;
	if (chunk->older != 0)
		mam_chunk_at(&pool->chunks, chunk->older)->newer = part->chunk;
	pool->newest_chunk = part->chunk;
	segment = mam_segment_at(&pool->segments, handle);
	*segment = (struct mam_segment){ .base = (uintptr_t)base,
					 .bytes = bytes,
					 .chunk = part->chunk,
					 .state = MAM_SEGMENT_UNMAPPED };
	mam_addrtree_insert(&pool->segments, &pool->by_address, handle);
	mam_space_insert_free_locked(pool, handle);
	pool->counts.segments++;
	pool->counts.chunks++;
	return MAM_OK;
}

enum mam_status mam_range_init(struct mam_pool *pool)
{
	const struct mam_source_properties properties = mam_source_describe(pool->source);
	uint64_t bytes = properties.range_bytes;
	uint64_t min = mam_round_up(properties.total_bytes, unit_of(pool));
	enum mam_status status;

	if (!mam_source_has_pieces(pool->source))
		return MAM_OK;
	pool->range = calloc(1, sizeof(*pool->range));
	if (pool->range == NULL)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	if (bytes == 0)
		bytes = RANGES_PER_MEMORY * (min != 0 ? min : (uint64_t)1 << 36);
	bytes = mam_round_up(bytes, unit_of(pool));
	status = make_part(pool, &pool->range->part[MAM_RANGE_SMALL], bytes, unit_of(pool));
	if (status == MAM_OK)
		status = make_part(pool, &pool->range->part[MAM_RANGE_LARGE], bytes, unit_of(pool));
	if (status != MAM_OK)
		mam_range_give_back(pool);
	return status;
}

void mam_range_fini(struct mam_pool *pool)
{
	if (pool->range == NULL)
		return;
	for (int i = 0; i < MAM_RANGE_PARTS; i++) {
		mam_pieces_fini(&pool->range->part[i].pieces);
		mam_freelists_fini(&pool->range->part[i].free_blocks);
		mam_freelists_fini(&pool->range->part[i].unmapped);
	}
	free(pool->range);
	pool->range = NULL;
}

/*
 * A piece or range that the source refuses is logged and leaked; the others are still released.
 * Unmapping does not wait for the GPU as cuMemFree does: if the wait fails, all of them are leaked.
 */
void mam_range_give_back(struct mam_pool *pool)
{
	bool leaves = pool->range->leaving_count != 0 || pool->range->unsealed != 0;
	bool in_use = (pool->unfenced || leaves) && mam_source_quiesce(pool->source) != MAM_OK;
	bool refused = in_use;

	if (!in_use && leaves)
		mam_alias_collect(pool, true);

	for (int i = 0; i < MAM_RANGE_PARTS && !in_use; i++) {
		const struct mam_pieces *pieces = &pool->range->part[i].pieces;
		uint64_t end = pieces->base + (pieces->units << pieces->unit_shift);
		uint64_t from = pieces->base;
		struct mam_piece piece;
		bool stuck = false;

		if (pieces->length == NULL)
			continue;
		for (; mam_pieces_first(pieces, from, end, &piece); from = piece.base + piece.bytes)
			stuck |= mam_pieces_has_twin(pieces, piece.base) ||
				 mam_source_unmap(pool->source, (void *)(uintptr_t)piece.base,
						  piece.bytes) != MAM_OK;
		if (!stuck)
			stuck = mam_source_shrink(pool->source, (void *)(uintptr_t)pieces->base,
						  end - pieces->base) != MAM_OK;
		refused |= stuck;
	}
	if (refused)
		mam_log(MAM_LOG_WARN,
			"pool %s: the source refused to release some memory, which "
			"is leaked",
			pool->config.name);
}

/* Width of the unmapped segment beside an edge. */
static uint64_t room_locked(const struct mam_pool *pool, const struct mam_edge *edge)
{
	uint64_t address = edge->down ? edge->at - 1 : edge->at;
	uint32_t handle = mam_addrtree_find(&pool->segments, pool->by_address, address);
	const struct mam_segment *segment = mam_segment_at(&pool->segments, handle);

	if (handle == 0 || segment->state != MAM_SEGMENT_UNMAPPED)
		return 0;
	return edge->down ? edge->at - segment->base : mam_segment_end(segment) - edge->at;
}

static uint64_t room(struct mam_pool *pool, const struct mam_edge *edge)
{
	uint64_t bytes;

	mam_lock_take(&pool->lock);
	bytes = room_locked(pool, edge);
	mam_pool_unlock(pool);
	return bytes;
}

/* Bytes of the free pieces in a free block. */
static uint64_t movable(const struct mam_pieces *pieces, const struct mam_segment *free_block)
{
	return mam_pieces_whole(pieces, free_block->base, mam_segment_end(free_block));
}

static uint64_t movable_everywhere_locked(const struct mam_pool *pool)
{
	uint64_t sum = 0;

	for (int i = 0; i < MAM_RANGE_PARTS; i++) {
		const struct mam_range_part *part = &pool->range->part[i];
		uint32_t first = mam_freelists_largest(&part->free_blocks, &pool->segments);

		while (first != 0 &&
		       mam_segment_at(&pool->segments, first)->bytes >= unit_of(pool)) {
			uint32_t at = first;

			for (; at != 0; at = mam_segment_at(&pool->segments, at)->peer_next)
				sum += movable(&part->pieces, mam_segment_at(&pool->segments, at));
			first = mam_freelists_below(&part->free_blocks, &pool->segments,
						    mam_segment_at(&pool->segments, first)->bytes);
		}
	}
	return sum;
}

/* Whole units between the mapped bytes and the maximum. */
static uint64_t units_between(const struct mam_pool *pool, uint64_t held, uint64_t max)
{
	return max > held ? mam_round_down(max - held, unit_of(pool)) : 0;
}

/* The needs of a request and the limits for it. */
struct need {
	uint64_t bytes;     /* of the request, plus slack for a large alignment */
	uint64_t alignment; /* of an address in a free block; 0: above a unit, or no alignment */
	uint64_t budget;    /* bytes that may be mapped before free pieces are moved */
	uint64_t footprint; /* bytes that may be mapped before other streams' memory is used */
	uint64_t max;       /* maximum of mapped bytes */
	uint64_t piece;     /* largest new piece */
	uint64_t waiting;   /* bytes that other threads wait for */
	uint64_t extra;     /* bytes that are added for other threads, beyond those that it lacks */
	struct mam_request *request; /* to use memory of its stream; NULL: none */
	bool may_alias;              /* memory that the request's stream freed */
};

static uint64_t limit_of(const struct mam_pool *pool)
{
	return pool->config.limit_bytes != 0 ? pool->config.limit_bytes : UINT64_MAX;
}

/* lock: pool */
static struct need need_locked(const struct mam_pool *pool, const struct mam_request *request,
			       bool may_alias)
{
	const struct mam_stats *counts = &pool->counts;
	const struct mam_chunk *large =
		mam_chunk_at(&pool->chunks, pool->range->part[MAM_RANGE_LARGE].chunk);
	uint64_t waiting = atomic_load_explicit(&pool->waiting, memory_order_relaxed);
	/* Memory that a stream freed is needed only as long as it cannot be used elsewhere. */
	uint64_t live = counts->live_rounded_bytes + counts->cached_bytes + request->bytes +
			waiting + (may_alias ? 0 : counts->retired_bytes);
	uint64_t peak = counts->peak_live_rounded_bytes;
	uint64_t slack = request->alignment > unit_of(pool) ? request->alignment : 0;
	uint64_t footprint = mam_pool_footprint_locked(pool, request->bytes + waiting);

	return (struct need){
		.may_alias = may_alias,
		.waiting = waiting,
		.bytes = request->bytes + slack,
		.alignment = slack == 0 ? request->alignment : 0,
		.budget = mam_growth_policy_budget(live > peak ? live : peak),
		.footprint = footprint,
		.max = pool->config.growth_bytes == MAM_GROWTH_NONE ? counts->physical_bytes
								    : limit_of(pool),
		.piece = mam_growth_policy_piece(live, large->live_blocks + 1, unit_of(pool)),
	};
}

/* Width of an unmapped neighbor. Its link saves a search by address for each free block. */
static uint64_t unmapped_locked(const struct mam_pool *pool, uint32_t neighbor)
{
	const struct mam_segment *segment = mam_segment_at(&pool->segments, neighbor);

	return neighbor != 0 && segment->state == MAM_SEGMENT_UNMAPPED ? segment->bytes : 0;
}

/* An edge of `free_block` with enough unmapped addresses beside it. */
static bool edge_of_locked(const struct mam_pool *pool, const struct mam_segment *free_block,
			   uint64_t lack, struct mam_edge *edge)
{
	edge->keep_from = free_block->base;
	edge->keep_to = mam_segment_end(free_block);
	edge->at = mam_segment_end(free_block);
	edge->down = false;
	if (unmapped_locked(pool, free_block->next) >= lack)
		return true;
	edge->at = free_block->base;
	edge->down = true;
	return unmapped_locked(pool, free_block->prev) >= lack;
}

/* Bytes at the start of `free_block` that alignment skips; whole units are added before it, if any. */
static uint64_t skip_of(const struct need *need, const struct mam_segment *free_block)
{
	return need->alignment == 0
		       ? 0
		       : mam_round_up(free_block->base, need->alignment) - free_block->base;
}

/*
 * Step 1 for free blocks, with `have` bytes to fill them. Returns the missing bytes; 0: none fits.
 */
static uint64_t best_edge_locked(const struct mam_pool *pool, const struct need *need,
				 uint64_t have, struct mam_edge *edge)
{
	const struct mam_range_part *part = &pool->range->part[edge->part];
	uint32_t first = mam_freelists_below(&part->free_blocks, &pool->segments, need->bytes);
	uint64_t max_stuck = 0, lack = 0;
	int seen = 0;

	while (first != 0) {
		uint32_t at = first;

		for (; at != 0; at = mam_segment_at(&pool->segments, at)->peer_next) {
			const struct mam_segment *free_block = mam_segment_at(&pool->segments, at);
			uint64_t lacks = mam_round_up(need->bytes + skip_of(need, free_block) -
							      free_block->bytes,
						      unit_of(pool));
			uint64_t stuck = free_block->bytes - movable(&part->pieces, free_block);
			struct mam_edge here = { .part = edge->part };

			if (seen++ == EDGES)
				return lack;
			if (!edge_of_locked(pool, free_block, lacks, &here))
				continue;
			/* Its own bytes count as well, including those that cannot move. */
			if (need->bytes <= have + stuck) {
				*edge = here;
				return lacks;
			}
			if (lack == 0 || stuck > max_stuck) {
				max_stuck = stuck;
				lack = lacks;
				*edge = here;
			}
		}
		first = mam_freelists_below(&part->free_blocks, &pool->segments,
					    mam_segment_at(&pool->segments, first)->bytes);
	}
	return lack;
}

/*
 * Step 1 for unmapped addresses: the end of the range while it is wide, so that free blocks keep
 * unmapped addresses beside them; later the narrowest segment that fits.
 */
static uint64_t unmapped_edge_locked(const struct mam_pool *pool, const struct need *need,
				     struct mam_edge *edge)
{
	const struct mam_range_part *part = &pool->range->part[edge->part];
	const struct mam_chunk *chunk = mam_chunk_at(&pool->chunks, part->chunk);
	uint64_t lack = mam_round_up(need->bytes, unit_of(pool));
	uint32_t handle = chunk->last;
	const struct mam_segment *last = mam_segment_at(&pool->segments, handle);

	if (last->state != MAM_SEGMENT_UNMAPPED || last->bytes < lack ||
	    last->bytes < chunk->bytes / 2)
		handle = mam_freelists_best(&part->unmapped, &pool->segments, lack);
	if (handle == 0)
		return 0;
	edge->at = mam_segment_at(&pool->segments, handle)->base;
	edge->keep_from = edge->keep_to = edge->at;
	edge->down = false;
	return lack;
}

/*
 * Before `bytes` of new memory exceed the footprint: move memory that other streams freed to the
 * request's stream.
 */
static bool gather(struct mam_pool *pool, const struct need *need, uint64_t bytes, uint64_t lack)
{
	return pool->counts.physical_bytes + bytes > need->footprint && need->request != NULL &&
	       mam_grow_may_borrow(pool, need->request) &&
	       pool->fences->gather(pool, need->request, lack) != 0;
}

/* Steps 2 to 4: add `lack` bytes at the edge. OUT_OF_MEMORY: some of them may have been added. */
static enum mam_status fill(struct mam_pool *pool, const struct need *need, struct mam_edge *edge,
			    uint64_t lack, bool *gathered)
{
	enum mam_status status = MAM_OK;
	bool refused = false;             /* the driver has less than was requested */
	bool may_move = true;             /* a search that found no piece is not repeated */
	bool may_alias = need->may_alias; /* likewise */
	uint64_t extra = need->extra;     /* given up at the first refusal */

	while (lack != 0 && (status == MAM_OK || status == MAM_ERROR_WOULD_WAIT)) {
		/* Only the holder of grow_lock changes this count. */
		uint64_t held = pool->counts.physical_bytes;
		uint64_t max = units_between(pool, held, need->max);
		uint64_t fresh = refused ? 0 : min_of(units_between(pool, held, need->budget), max);
		uint64_t bytes = refused ? 0 : min_of(min_of(lack, need->piece), max);
		bool may_wait = bytes == 0;
		struct mam_free_piece piece;

		if (lack > fresh && may_move && (may_wait || !mam_remap_would_wait(pool)) &&
		    (may_move =
			     mam_remap_pick(pool, edge, lack - fresh, room(pool, edge), &piece))) {
			bytes = piece.piece.bytes;
			if (bytes > 2 * lack && bytes > lack + TOO_LARGE && !refused &&
			    need->max > held) {
				status = mam_remap_release(pool, &piece, may_wait);
				continue;
			}
			status = mam_remap_move(pool, edge, &piece, may_wait);
		} else if (lack > fresh && may_alias && !mam_remap_would_wait(pool) &&
			   (may_alias = mam_alias_pick(pool, need->request, edge, lack - fresh,
						       room(pool, edge), &piece))) {
			bytes = piece.piece.bytes;
			status = mam_alias_move(pool, need->request, edge, &piece);
			if (status == MAM_ERROR_OUT_OF_MEMORY) { /* use new memory */
				may_alias = false;
				status = MAM_OK;
				continue;
			}
		} else if (bytes != 0 && gather(pool, need, bytes, lack)) {
			*gathered = true;
			return MAM_ERROR_WOULD_WAIT;
		} else if (bytes != 0) {
			status = mam_remap_fresh(pool, edge, bytes);
			if (status == MAM_ERROR_OUT_OF_MEMORY) {
				if (extra == 0)
					refused = may_move = true;
				lack -= min_of(lack, extra);
				extra = 0;
				status = MAM_OK;
				continue;
			}
		} else if (mam_remap_pick(pool, edge, lack, UINT64_MAX, &piece)) {
			status = mam_remap_release(pool, &piece, true);
			refused = false;
		} else {
			return MAM_ERROR_OUT_OF_MEMORY;
		}
		if (status == MAM_OK)
			lack -= min_of(lack, bytes);
	}
	return status;
}

/*
 * The missing bytes, or more: a step of growth_bytes; what other threads wait for, in one piece; and
 * for a small request, which is probably not the last, as much as the growth policy allows.
 */
static uint64_t ahead(struct mam_pool *pool, struct need *need, const struct mam_edge *edge,
		      uint64_t lack)
{
	uint64_t held = pool->counts.physical_bytes;
	uint64_t max = mam_growth_policy_ahead(held, need->budget);
	uint64_t small = min_of(units_between(pool, held, min_of(max, need->max)), need->piece);
	/* Without moves, each of the others would map its own memory, whatever the budget. */
	bool may_move = need->may_alias || !mam_remap_would_wait(pool);
	uint64_t most = may_move ? min_of(need->budget, need->max) : need->max;
	uint64_t shared = min_of(mam_growth_policy_shared(lack, need->waiting, unit_of(pool)),
				 units_between(pool, held, most));
	uint64_t step = pool->config.growth_bytes;
	uint64_t wide = room(pool, edge), bytes = lack;

	if (step != MAM_GROWTH_NONE && lack < step && wide >= step)
		bytes = mam_round_up(step, unit_of(pool));
	if (shared > bytes && wide >= shared) {
		bytes = need->piece = shared;
		need->extra = shared - lack;
	}
	if (edge->part == MAM_RANGE_SMALL && small > bytes && wide >= small)
		bytes = small;
	return bytes;
}

static enum mam_status take(struct mam_pool *pool, const struct mam_request *request, void **block)
{
	enum mam_status status;

	mam_lock_take(&pool->lock);
	status = mam_streamlist_serve_locked(pool, request, block);
	mam_pool_unlock(pool);
	return status;
}

/*
 * Step 1. Returns the bytes that are missing there; 0: the available memory is insufficient, so no
 * piece moves. `first`: the first attempt. Later attempts ignore a stream's memory: free pieces
 * beside it may have moved.
 */
static uint64_t choose_locked(struct mam_pool *pool, const struct mam_request *request,
			      const struct need *need, bool first, struct mam_edge *edge)
{
	uint64_t free_bytes = movable_everywhere_locked(pool) +
			      (need->may_alias ? mam_alias_bytes_locked(pool, request) : 0);
	uint64_t held = pool->counts.physical_bytes;
	uint64_t fresh = units_between(pool, held, min_of(need->budget, need->max));
	struct mam_edge own = *edge;
	uint64_t lack = 0, own_lack = 0;

	if (request->alignment <= unit_of(pool))
		lack = best_edge_locked(pool, need, free_bytes + fresh, edge);
	if (first)
		own_lack = mam_streamlist_edge_locked(pool, request, &own);
	if (own_lack != 0 && (lack == 0 || own_lack < lack)) {
		*edge = own;
		lack = own_lack;
	}
	if (lack == 0)
		lack = unmapped_edge_locked(pool, need, edge);
	if (lack == 0 && mam_remap_revive_locked(pool))
		lack = unmapped_edge_locked(pool, need, edge);
	fresh = units_between(pool, held, need->max);
	return lack > free_bytes && lack - free_bytes > fresh ? 0 : lack;
}

enum mam_status mam_range_grow_for(struct mam_pool *pool, struct mam_request *request, void **block)
{
	enum mam_status status = MAM_ERROR_WOULD_WAIT, filled;
	bool strapped = false; /* the driver gave less than the budget allows */
	bool gathered = true;  /* the stream's memory is as it was freed, or more joined it */
	bool may_alias = false;
	struct mam_edge edge;
	struct need need;
	uint64_t lack;

	mam_alias_collect(pool, false);
	for (int i = 0; i < ATTEMPTS && status == MAM_ERROR_WOULD_WAIT; i += !gathered) {
		if (gathered)
			may_alias = mam_alias_may(pool, request);
		edge = (struct mam_edge){ .part = mam_range_part_of(request->bytes) };
		mam_lock_take(&pool->lock);
		need = need_locked(pool, request, may_alias);
		need.request = request;
		if (strapped)
			need.budget = min_of(need.budget, pool->counts.physical_bytes);
		lack = choose_locked(pool, request, &need, gathered, &edge);
		mam_pool_unlock(pool);
		if (lack == 0)
			return MAM_ERROR_OUT_OF_MEMORY;
		if (!strapped)
			lack = ahead(pool, &need, &edge, lack);
		gathered = false;
		status = filled = fill(pool, &need, &edge, lack, &gathered);
		mam_alias_seal(pool, request);
		/*
		 * The call may have tried to add more than the request lacks: a part may suffice.
		 */
		if (filled == MAM_OK || filled == MAM_ERROR_WOULD_WAIT ||
		    filled == MAM_ERROR_OUT_OF_MEMORY)
			status = take(pool, request, block);
		if (status != MAM_ERROR_WOULD_WAIT || filled != MAM_ERROR_OUT_OF_MEMORY)
			continue;
		/* Another edge may need less, now that the available memory is known. */
		if (strapped)
			return MAM_ERROR_OUT_OF_MEMORY;
		strapped = true;
	}
	return status == MAM_ERROR_WOULD_WAIT ? MAM_ERROR_OUT_OF_MEMORY : status;
}

/*
 * Steps 1 and 2 with new memory alone; `room_now`: the source's room. `more` on entry: add more
 * than the missing bytes; on return: whether more was added.
 */
static enum mam_status bring_new(struct mam_pool *pool, const struct mam_request *request,
				 uint64_t room_now, bool *more)
{
	struct mam_edge edge = { .part = mam_range_part_of(request->bytes) };
	enum mam_status status = MAM_OK;
	uint64_t lack = 0, wish, max;
	struct need need;

	mam_lock_take(&pool->lock);
	need = need_locked(pool, request, false);
	max = min_of(units_between(pool, pool->counts.physical_bytes, need.max), room_now);
	if (request->alignment <= unit_of(pool))
		lack = best_edge_locked(pool, &need, UINT64_MAX / 2, &edge);
	if (lack == 0)
		lack = unmapped_edge_locked(pool, &need, &edge);
	if (lack == 0 && mam_remap_revive_locked(pool))
		lack = unmapped_edge_locked(pool, &need, &edge);
	mam_pool_unlock(pool);
	if (lack == 0 || lack > max)
		return MAM_ERROR_OUT_OF_MEMORY;
	wish = *more ? min_of(ahead(pool, &need, &edge, lack), max) : lack;
	*more = wish > lack;
	while (wish != 0 && status == MAM_OK) {
		uint64_t bytes = min_of(wish, MAM_POOL_GROWTH_MAX);

		status = mam_remap_fresh(pool, &edge, bytes);
		wish -= bytes;
	}
	return status;
}

enum mam_status mam_range_grow_new(struct mam_pool *pool, const struct mam_request *request,
				   void **block)
{
	uint64_t room_now = mam_source_room(pool->source);
	enum mam_status status = MAM_ERROR_WOULD_WAIT, brought;
	bool more = true;

	for (int i = 0; i < ATTEMPTS && status == MAM_ERROR_WOULD_WAIT; i++) {
		bool ahead_too = more;

		status = brought = bring_new(pool, request, room_now, &ahead_too);
		if (brought == MAM_OK || brought == MAM_ERROR_OUT_OF_MEMORY)
			status = take(pool, request, block);
		/* Try once more without the additional bytes, if there were any. */
		more = more && brought != MAM_ERROR_OUT_OF_MEMORY;
		if (brought == MAM_ERROR_OUT_OF_MEMORY && !ahead_too)
			break;
	}
	return status == MAM_ERROR_WOULD_WAIT ? MAM_ERROR_OUT_OF_MEMORY : status;
}

enum mam_status mam_range_first(struct mam_pool *pool)
{
	uint64_t bytes = pool->config.chunk_bytes;
	uint64_t room_now = mam_source_room(pool->source);
	struct need need = { .budget = UINT64_MAX, .footprint = UINT64_MAX, .max = limit_of(pool) };
	bool gathered = false;
	struct mam_edge edge = { .part = MAM_RANGE_LARGE };
	enum mam_status status;

	if (bytes == 0)
		return MAM_OK;
	if (bytes == MAM_CHUNK_LARGEST)
		bytes = room_now;
	if (mam_round_up_overflows(bytes, unit_of(pool)))
		return MAM_ERROR_OUT_OF_MEMORY;
	bytes = mam_round_up(bytes, unit_of(pool));
	if (pool->config.limit_bytes != 0 && bytes > pool->config.limit_bytes &&
	    pool->config.chunk_bytes == MAM_CHUNK_LARGEST)
		bytes = mam_round_down(pool->config.limit_bytes, unit_of(pool));
	/* As for blocks of an eighth of it: the block sizes are not known yet. */
	need.piece = mam_growth_policy_piece(bytes, 8, unit_of(pool));
	edge.at = pool->range->part[MAM_RANGE_LARGE].pieces.base;
	edge.keep_from = edge.keep_to = edge.at;
	if (bytes > room(pool, &edge))
		return MAM_ERROR_OUT_OF_MEMORY;
	status = fill(pool, &need, &edge, bytes, &gathered);
	/* As much as possible: a refused last step does not undo the others. */
	if (status == MAM_ERROR_OUT_OF_MEMORY && pool->config.chunk_bytes == MAM_CHUNK_LARGEST &&
	    pool->counts.physical_bytes != 0)
		status = MAM_OK;
	return status;
}

enum mam_status mam_range_trim(struct mam_pool *pool, uint64_t keep_bytes, uint64_t *released)
{
	struct mam_free_piece piece;

	*released = 0;
	mam_alias_collect(pool, false);
	if (pool->range->leaving_count != 0 && mam_source_quiesce(pool->source) == MAM_OK)
		mam_alias_collect(pool, true);
	for (;;) {
		uint64_t held = pool->counts.physical_bytes;
		enum mam_status status;

		if (held <= keep_bytes ||
		    !mam_remap_pick(pool, NULL, UINT64_MAX, held - keep_bytes, &piece))
			return MAM_OK;
		status = mam_remap_release(pool, &piece, true);
		if (status == MAM_OK)
			*released += piece.piece.bytes;
		else if (status != MAM_ERROR_WOULD_WAIT) /* WOULD_WAIT: it was taken; go on */
			return status;
	}
}
