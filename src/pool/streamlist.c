/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streamlist.c - stream free lists (streamlist.h).
 *
 * put:     free the block (space.h), then add its memory to the list, which joins it with
 * neighbors in the same list.
 * keep:    the same without joining; move joins later, if that is necessary at all.
 * take:    place the request in the segment as in any free one; the rest keeps its state, and so
 * stays in its list.
 *
 * Drawing. Memory in an older free list is released earlier. A free that draws a neighbor along
 * delays the neighbor's release, so a free draws no more than a multiple of its own bytes.
 * Otherwise a stream whose freed blocks are neighbors would keep all of them for as long as it
 * frees. Peak of physical over live bytes by that multiple, where one stream frees the blocks of 64
 * KiB that another one allocates, and the GPU is one block late: 1.06 with 1 and 16, 1.19 with 64,
 * 1.31 with 128, 40 after 20,000 blocks without a limit. Training of a graph network, where the GPU
 * lags more and more: 1.21 with 64, 1.33 without drawing.
 *
 * Counting. Held segments are counted as retired and, in their chunk, as live: a chunk with held
 * memory is not released. Joining and splitting change their number; the number of joins is the
 * decrease of the count of all segments.
 *
 * Lists are records: a pointer to one is invalid after mam_streamlist_begin_locked().
 */
#include "pool/streamlist.h"

#include "base/bits.h"
#include "index/addrtree.h"

#define DRAWN_MAX 64 /* limit for a neighbor drawn along, in multiples of the bytes that join */
#define RUN_TRIES 64 /* segments at which a run may begin, and neighbors of each */

static bool ready(const struct mam_pool *pool)
{
	return atomic_load_explicit(&pool->state, memory_order_relaxed) == MAM_POOL_READY;
}

/* Without a range all segments are in the free lists of one part. */
static unsigned count_parts(const struct mam_pool *pool)
{
	return pool->range != NULL ? MAM_RANGE_PARTS : 1;
}

/* The segregated free lists in which a request finds segments that it may use. */
static const struct mam_freelists *list_for(const struct mam_pool *pool, uint32_t list,
					    uint64_t bytes)
{
	return &mam_streamlist_at(pool, list)
			->freelists[pool->range != NULL ? mam_range_part_of(bytes) : 0];
}

static void fini_freelists(struct mam_streamlist *list)
{
	for (unsigned part = 0; part < MAM_RANGE_PARTS; part++)
		mam_freelists_fini(&list->freelists[part]);
}

static enum mam_status init_freelists(const struct mam_pool *pool, struct mam_streamlist *list)
{
	enum mam_status status = MAM_OK;

	for (unsigned part = 0; part < count_parts(pool) && status == MAM_OK; part++)
		status = mam_freelists_init(&list->freelists[part], pool->config.granule);
	if (status != MAM_OK)
		fini_freelists(list);
	return status;
}

enum mam_status mam_streamlist_begin_locked(struct mam_pool *pool, uint32_t *list)
{
	enum mam_status status = MAM_OK;
	struct mam_streamlist *made;

	if (!ready(pool))
		return MAM_ERROR_DESTROYED;
	if (pool->holds.base == NULL)
		status = mam_records_init(&pool->holds, sizeof(struct mam_streamlist));
	if (status == MAM_OK && pool->idle_streamlist == 0)
		status = mam_records_reserve(&pool->holds, 1);
	if (status != MAM_OK)
		return status;
	if (pool->idle_streamlist == 0) {
		struct mam_streamlist fresh = { 0 };

		status = init_freelists(pool, &fresh);
		if (status != MAM_OK)
			return status;
		pool->idle_streamlist = mam_records_take(&pool->holds);
		*mam_streamlist_at(pool, pool->idle_streamlist) = fresh;
	}
	*list = pool->idle_streamlist;
	made = mam_streamlist_at(pool, *list);
	pool->idle_streamlist = made->idle_next;
	made->idle_next = 0;
	made->in_use = 1;
	made->loose = 0;
	made->older = 0;
	made->moving = 0;
	made->use++;
	return MAM_OK;
}

void mam_streamlist_end_locked(struct mam_pool *pool, uint32_t list)
{
	struct mam_streamlist *ended = mam_streamlist_at(pool, list);

	ended->in_use = 0;
	ended->idle_next = pool->idle_streamlist;
	pool->idle_streamlist = list;
}

void mam_streamlist_follow_locked(struct mam_pool *pool, uint32_t list, uint32_t older)
{
	mam_streamlist_at(pool, list)->older = older;
}

/* Whether a segment in this state is in a free list that `hold` follows. */
static bool is_older(const struct mam_pool *pool, uint32_t state, uint32_t list)
{
	uint32_t at = mam_streamlist_is(state) ? mam_streamlist_at(pool, list)->older : 0;

	while (at != 0 && state != MAM_SEGMENT_HELD + at)
		at = mam_streamlist_at(pool, at)->older;
	return at != 0;
}

/* Draw a neighbor of `bytes` that join the list out of an older list, unless it is too large. */
static void draw(struct mam_pool *pool, uint32_t neighbor, uint32_t list, uint64_t bytes)
{
	const struct mam_segment *segment = mam_segment_at(&pool->segments, neighbor);

	if (neighbor == 0 || !is_older(pool, segment->state, list) ||
	    segment->bytes / DRAWN_MAX > bytes)
		return;
	mam_streamlist_remove_free_locked(pool, neighbor);
	mam_space_become_locked(pool, neighbor, MAM_SEGMENT_HELD + list);
}

/*
 * A segment that is in no list joins a stream free list. Until now it counts as one retired block.
 */
static void join_hold(struct mam_pool *pool, uint32_t handle, uint32_t list)
{
	const struct mam_segment *segment = mam_segment_at(&pool->segments, handle);
	struct mam_chunk *chunk = mam_chunk_at(&pool->chunks, segment->chunk);
	uint64_t before = pool->counts.segments;
	uint64_t joined;

	draw(pool, segment->prev, list, segment->bytes);
	draw(pool, segment->next, list, segment->bytes);
	mam_space_become_locked(pool, handle, MAM_SEGMENT_HELD + list);
	joined = before - pool->counts.segments;
	chunk->live_blocks -= joined;
	pool->counts.retired_blocks -= joined;
}

enum mam_status mam_streamlist_put_locked(struct mam_pool *pool, uint32_t list, uint64_t address)
{
	enum mam_status status;
	uint32_t handle;

	status = mam_space_end_locked(pool, address, &handle);
	if (status != MAM_OK)
		return status;
	pool->counts.retired_blocks++;
	pool->counts.retired_bytes += mam_segment_at(&pool->segments, handle)->bytes;
	mam_pool_peak(&pool->counts.peak_retired_bytes, pool->counts.retired_bytes);
	join_hold(pool, handle, list);
	mam_pool_prove_locked(pool);
	return MAM_OK;
}

enum mam_status mam_streamlist_keep_locked(struct mam_pool *pool, uint32_t list, uint64_t address)
{
	enum mam_status status;
	struct mam_segment *segment;
	uint32_t handle;

	status = mam_space_end_locked(pool, address, &handle);
	if (status != MAM_OK)
		return status;
	segment = mam_segment_at(&pool->segments, handle);
	pool->counts.retired_blocks++;
	pool->counts.retired_bytes += segment->bytes;
	mam_pool_peak(&pool->counts.peak_retired_bytes, pool->counts.retired_bytes);
	segment->state = MAM_SEGMENT_HELD + list;
	mam_streamlist_insert_free_locked(pool, handle);
	mam_pool_prove_locked(pool);
	return MAM_OK;
}

static uint32_t best_in(const struct mam_pool *pool, uint32_t list,
			const struct mam_request *request)
{
	const struct mam_freelists *freelists;

	if (mam_streamlist_at(pool, list)->bytes < request->bytes)
		return 0;
	freelists = list_for(pool, list, request->bytes);
	if (request->alignment == 0)
		return mam_freelists_best(freelists, &pool->segments, request->bytes);
	return mam_freelists_best_aligned(freelists, &pool->segments, request->bytes,
					  request->alignment);
}

uint32_t mam_streamlist_best_locked(const struct mam_pool *pool, uint32_t list,
				    const struct mam_request *request)
{
	uint64_t min = UINT64_MAX;
	uint32_t best = 0;

	for (; list != 0 && min > request->bytes; list = mam_streamlist_at(pool, list)->older) {
		uint32_t found = best_in(pool, list, request);

		if (found != 0 && mam_segment_at(&pool->segments, found)->bytes < min) {
			min = mam_segment_at(&pool->segments, found)->bytes;
			best = found;
		}
	}
	return best;
}

/* Bytes from an address to the next one at which a block for the request may begin. */
static uint64_t skip_from(uint64_t address, const struct mam_request *request)
{
	return request->alignment != 0 ? mam_round_up(address, request->alignment) - address : 0;
}

enum mam_status mam_streamlist_take_locked(struct mam_pool *pool, uint32_t segment,
					   const struct mam_request *request, void **block)
{
	enum mam_status status = mam_records_reserve(&pool->segments, 2 * MAM_SEGMENT_RECORDS);
	const struct mam_segment *held;
	struct mam_chunk *chunk;
	uint64_t skip;

	if (status != MAM_OK)
		return status;
	held = mam_segment_at(&pool->segments, segment);
	chunk = mam_chunk_at(&pool->chunks, held->chunk);
	skip = skip_from(held->base, request);
	/* One held segment becomes none, one or two; place() counts the block as one more. */
	if (skip != 0) {
		chunk->live_blocks++;
		pool->counts.retired_blocks++;
	}
	if (held->bytes - skip == request->bytes) {
		chunk->live_blocks--;
		pool->counts.retired_blocks--;
	}
	pool->counts.retired_bytes -= request->bytes;
	*block = mam_space_place_locked(pool, segment, request);
	mam_pool_prove_locked(pool);
	return MAM_OK;
}

void mam_streamlist_adopt_locked(struct mam_pool *pool, uint32_t handle, uint32_t list)
{
	const struct mam_segment *segment = mam_segment_at(&pool->segments, handle);
	struct mam_chunk *chunk = mam_chunk_at(&pool->chunks, segment->chunk);
	uint64_t end = mam_segment_end(segment) - chunk->base;

	if (end > chunk->high) { /* as for a block at this address */
		pool->high_bytes += end - chunk->high;
		chunk->high = end;
		mam_pool_peak(&pool->counts.high_water_bytes, pool->high_bytes);
	}
	chunk->live_blocks++;
	pool->counts.retired_blocks++;
	pool->counts.retired_bytes += segment->bytes;
	mam_pool_peak(&pool->counts.peak_retired_bytes, pool->counts.retired_bytes);
	join_hold(pool, handle, list);
}

uint32_t mam_streamlist_cut_locked(struct mam_pool *pool, uint32_t handle, uint64_t from,
				   uint64_t to)
{
	const struct mam_segment *held = mam_segment_at(&pool->segments, handle);
	struct mam_chunk *chunk = mam_chunk_at(&pool->chunks, held->chunk);
	/* One held segment becomes none, one or two. */
	int64_t more = (int64_t)(held->base < from) + (to < mam_segment_end(held)) - 1;

	chunk->live_blocks += (uint64_t)more;
	pool->counts.retired_blocks += (uint64_t)more;
	pool->counts.retired_bytes -= to - from;
	return mam_space_carve_locked(pool, handle, from, to);
}

static bool is_ours(const struct mam_pool *pool, uint32_t handle, uint32_t list)
{
	uint32_t state = mam_segment_at(&pool->segments, handle)->state;

	return handle != 0 && (state == MAM_SEGMENT_FREE || state == MAM_SEGMENT_HELD + list ||
			       is_older(pool, state, list));
}

bool mam_streamlist_covers_locked(const struct mam_pool *pool, uint32_t handle, uint32_t list,
				  const struct mam_piece *piece)
{
	const struct mam_segment *segment = mam_segment_at(&pool->segments, handle);
	uint64_t from = segment->base, to = mam_segment_end(segment);
	uint32_t below = segment->prev, above = segment->next;

	for (int tries = RUN_TRIES; from > piece->base; tries--) {
		segment = mam_segment_at(&pool->segments, below);
		if (below == 0 || segment->state != MAM_SEGMENT_FREE || tries == 0)
			return false;
		from = segment->base;
		below = segment->prev;
	}
	for (int tries = RUN_TRIES; to < piece->base + piece->bytes; tries--) {
		segment = mam_segment_at(&pool->segments, above);
		if (!is_ours(pool, above, list) || tries == 0)
			return false;
		to = mam_segment_end(segment);
		above = segment->next;
	}
	return true;
}

/* Neighbors that are free, in a stream free list or in one that it follows. */
struct run {
	uint64_t from, to;
	uint32_t below, above; /* the segments beside it; 0: the chunk ends */
};

static uint64_t bytes_of(const struct run *run)
{
	return run->to - run->from;
}

/*
 * Which part of a run the request takes: from `base`, the segment at which the run was found, or as
 * far up as possible. False: the run is too short.
 */
static bool cut(const struct run *run, uint64_t base, const struct mam_request *request,
		uint64_t *from, uint64_t *to)
{
	*from = base;
	*to = base + skip_from(base, request) + request->bytes;
	if (*to <= run->to)
		return true;
	if (bytes_of(run) < request->bytes)
		return false;
	*from = run->to - request->bytes;
	if (request->alignment != 0)
		*from = mam_round_down(*from, request->alignment);
	*to = *from + request->bytes;
	return *from >= run->from;
}

/* From a held segment outwards, upwards first, until there is enough. */
static struct run reach(const struct mam_pool *pool, uint32_t handle, uint32_t list,
			const struct mam_request *request)
{
	const struct mam_segment *segment = mam_segment_at(&pool->segments, handle);
	struct run run = { segment->base, mam_segment_end(segment), segment->prev, segment->next };
	uint64_t base = run.from, from, to;
	int tries = RUN_TRIES;

	for (; !cut(&run, base, request, &from, &to) && is_ours(pool, run.above, list) && tries > 0;
	     tries--) {
		segment = mam_segment_at(&pool->segments, run.above);
		run.to = mam_segment_end(segment);
		run.above = segment->next;
	}
	for (; !cut(&run, base, request, &from, &to) && is_ours(pool, run.below, list) && tries > 0;
	     tries--) {
		segment = mam_segment_at(&pool->segments, run.below);
		run.from = segment->base;
		run.below = segment->prev;
	}
	return run;
}

/* The segments of a list and those that it follows which may serve a request, largest first. */
struct scan {
	const struct mam_freelists *freelists[MAM_STREAMLIST_CHAIN_MAX];
	uint32_t at[MAM_STREAMLIST_CHAIN_MAX];
	unsigned count;
	int tries;
};

static void scan_begin(const struct mam_pool *pool, uint32_t list, uint64_t bytes,
		       struct scan *scan)
{
	scan->count = 0;
	scan->tries = RUN_TRIES;
	for (; list != 0 && scan->count < MAM_STREAMLIST_CHAIN_MAX; scan->count++) {
		scan->freelists[scan->count] = list_for(pool, list, bytes);
		scan->at[scan->count] =
			mam_freelists_largest(scan->freelists[scan->count], &pool->segments);
		list = mam_streamlist_at(pool, list)->older;
	}
}

/* 0: there are no more, or RUN_TRIES were returned. */
static uint32_t scan_next(const struct mam_pool *pool, struct scan *scan)
{
	const struct mam_segment *segment, *largest = mam_segment_at(&pool->segments, 0);
	unsigned in = 0;
	uint32_t found;

	for (unsigned i = 0; i < scan->count; i++) {
		segment = mam_segment_at(&pool->segments, scan->at[i]);
		if (scan->at[i] == 0 || segment->bytes <= largest->bytes)
			continue;
		largest = segment;
		in = i;
	}
	if (largest->bytes == 0 || scan->tries-- == 0)
		return 0;
	found = scan->at[in];
	scan->at[in] =
		largest->peer_next != 0
			? largest->peer_next
			: mam_freelists_below(scan->freelists[in], &pool->segments, largest->bytes);
	return found;
}

/*
 * All of [from, to) that is free or in an older list joins the list. Each step may join records, so
 * every step searches by address.
 */
static void absorb(struct mam_pool *pool, uint32_t list, uint64_t from, uint64_t to)
{
	while (from < to) {
		uint32_t handle = mam_addrtree_find(&pool->segments, pool->by_address, from);
		const struct mam_segment *segment = mam_segment_at(&pool->segments, handle);
		uint64_t end = mam_segment_end(segment);

		if (segment->state == MAM_SEGMENT_FREE) {
			mam_streamlist_adopt_locked(
				pool,
				mam_space_carve_locked(pool, handle, from, end < to ? end : to),
				list);
		} else if (segment->state != MAM_SEGMENT_HELD + list) {
			mam_streamlist_remove_free_locked(pool, handle);
			join_hold(pool, handle, list);
		}
		from = end;
	}
}

bool mam_streamlist_gather_locked(struct mam_pool *pool, uint32_t list, uint64_t from, uint64_t to)
{
	for (uint64_t at = from; at < to;) {
		uint32_t handle = mam_addrtree_find(&pool->segments, pool->by_address, at);

		if (!is_ours(pool, handle, list))
			return false;
		at = mam_segment_end(mam_segment_at(&pool->segments, handle));
	}
	absorb(pool, list, from, to);
	return true;
}

bool mam_streamlist_absorb_locked(struct mam_pool *pool, uint32_t list,
				  const struct mam_request *request)
{
	struct scan scan;
	uint64_t from, to;
	uint32_t at;

	/* Only the two ends are cut. */
	if (mam_records_reserve(&pool->segments, 4 * MAM_SEGMENT_RECORDS) != MAM_OK)
		return false;
	scan_begin(pool, list, request->bytes, &scan);
	while ((at = scan_next(pool, &scan)) != 0) {
		uint64_t base = mam_segment_at(&pool->segments, at)->base;
		struct run run = reach(pool, at, list, request);

		if (!cut(&run, base, request, &from, &to))
			continue;
		absorb(pool, list, from, to);
		mam_pool_prove_locked(pool);
		return true;
	}
	return false;
}

void mam_streamlist_offer_locked(const struct mam_pool *pool, uint32_t list,
				 struct mam_request *request)
{
	request->list = list;
	request->streamlist_use = mam_streamlist_at(pool, list)->use;
}

bool mam_streamlist_is_offered_locked(const struct mam_pool *pool,
				      const struct mam_request *request)
{
	return request->list != 0 && ready(pool) &&
	       mam_streamlist_at(pool, request->list)->in_use != 0 &&
	       mam_streamlist_at(pool, request->list)->use == request->streamlist_use;
}

enum mam_status mam_streamlist_serve_locked(struct mam_pool *pool,
					    const struct mam_request *request, void **block)
{
	enum mam_status status = mam_space_take_locked(pool, request, block);
	uint32_t found;

	if (status != MAM_ERROR_WOULD_WAIT || !mam_streamlist_is_offered_locked(pool, request))
		return status;
	(void)mam_streamlist_absorb_locked(pool, request->list, request);
	found = mam_streamlist_best_locked(pool, request->list, request);
	return found != 0 ? mam_streamlist_take_locked(pool, found, request, block) : status;
}

static bool has_unmapped(const struct mam_pool *pool, uint32_t handle, uint64_t bytes)
{
	const struct mam_segment *segment = mam_segment_at(&pool->segments, handle);

	return handle != 0 && segment->state == MAM_SEGMENT_UNMAPPED && segment->bytes >= bytes;
}

uint64_t mam_streamlist_edge_locked(const struct mam_pool *pool, const struct mam_request *request,
				    struct mam_edge *edge)
{
	uint64_t unit = pool->source->properties.granularity;
	uint64_t min = 0;
	struct scan scan;
	uint32_t at;

	if (!mam_streamlist_is_offered_locked(pool, request))
		return 0;
	scan_begin(pool, request->list, request->bytes, &scan);
	while ((at = scan_next(pool, &scan)) != 0) {
		struct run run = reach(pool, at, request->list, request);
		/* The same at both ends: units are multiples of the alignment. */
		uint64_t lack = mam_round_up(
			skip_from(run.from, request) + request->bytes - bytes_of(&run), unit);
		bool up = has_unmapped(pool, run.above, lack);

		if ((min != 0 && lack >= min) || (!up && !has_unmapped(pool, run.below, lack)))
			continue;
		min = lack;
		edge->down = !up;
		edge->at = up ? run.to : run.from;
		edge->keep_from = run.from;
		edge->keep_to = run.to;
	}
	return min;
}

/* The smallest is the cheapest to find. */
static uint32_t any(const struct mam_pool *pool, const struct mam_streamlist *list)
{
	uint32_t found = 0;

	for (unsigned part = 0; part < count_parts(pool) && found == 0; part++)
		found = mam_freelists_best(&list->freelists[part], &pool->segments,
					   pool->config.granule);
	return found;
}

unsigned mam_streamlist_release_locked(struct mam_pool *pool, uint32_t list, unsigned max)
{
	const struct mam_streamlist *from = mam_streamlist_at(pool, list);
	unsigned released = 0;

	while (released < max && from->segments != 0) {
		uint32_t handle = any(pool, from);

		pool->counts.retired_blocks--;
		pool->counts.retired_bytes -= mam_segment_at(&pool->segments, handle)->bytes;
		mam_streamlist_remove_free_locked(pool, handle);
		mam_space_release_locked(pool, handle);
		released++;
	}
	return released;
}

unsigned mam_streamlist_move_locked(struct mam_pool *pool, uint32_t from, uint32_t to, unsigned max)
{
	const struct mam_streamlist *source = mam_streamlist_at(pool, from);
	unsigned moved = 0;

	while (moved < max && source->segments != 0) {
		uint32_t handle = any(pool, source);

		mam_streamlist_remove_free_locked(pool, handle);
		join_hold(pool, handle, to);
		moved++;
	}
	mam_pool_prove_locked(pool);
	return moved;
}

/* Handles of records are multiples of what one takes. */
static uint32_t first_streamlist(const struct mam_pool *pool)
{
	return (uint32_t)(pool->holds.record_bytes / MAM_RB_UNIT);
}

static uint32_t holds_end(const struct mam_pool *pool)
{
	return pool->holds.touched * first_streamlist(pool);
}

void mam_holds_fini(struct mam_pool *pool)
{
	if (pool->holds.base == NULL)
		return;
	for (uint32_t at = first_streamlist(pool); at < holds_end(pool);
	     at += first_streamlist(pool))
		fini_freelists(mam_streamlist_at(pool, at));
	mam_records_fini(&pool->holds);
	pool->idle_streamlist = 0;
}

size_t mam_holds_bytes(const struct mam_pool *pool)
{
	size_t bytes = 0;

	if (pool->holds.base == NULL)
		return 0;
	for (uint32_t at = first_streamlist(pool); at < holds_end(pool);
	     at += first_streamlist(pool))
		for (unsigned part = 0; part < count_parts(pool); part++)
			bytes += mam_freelists_bytes(&mam_streamlist_at(pool, at)->freelists[part]);
	return bytes + mam_records_bytes(&pool->holds);
}

const char *mam_holds_check(const struct mam_pool *pool, uint64_t segments, uint64_t bytes)
{
	uint64_t all_segments = 0;
	uint64_t all_bytes = 0;

	if (pool->holds.base == NULL)
		return segments == 0 ? NULL : "a held segment names a list that does not exist";
	for (uint32_t at = first_streamlist(pool); at < holds_end(pool);
	     at += first_streamlist(pool)) {
		const struct mam_streamlist *list = mam_streamlist_at(pool, at);
		uint64_t count = 0;

		for (unsigned part = 0; part < count_parts(pool); part++) {
			uint64_t here = 0;
			const char *fault =
				mam_freelists_check(&list->freelists[part], &pool->segments, &here);

			if (fault != NULL)
				return fault;
			count += here;
		}
		if (count != list->segments)
			return "a stream free list's count is wrong";
		if (count != 0 && list->in_use == 0)
			return "an unused stream free list is not empty";
		all_segments += count;
		all_bytes += list->bytes;
	}
	if (all_segments != segments || all_bytes != bytes)
		return "the stream free lists do not contain exactly the held segments";
	return NULL;
}
