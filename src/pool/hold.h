/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold.h - freed ground that is kept apart from the pool's own: holds.
 *
 * A hold is ground that somebody above the pool may use at once and nobody else yet: what was freed
 * in the order of a stream. It works as the pool's own ground does: neighbours in one hold are
 * joined, and a request takes the best fit and leaves the rest. Neighbours in two holds, or in a
 * hold and in the pool's own ground, stay apart until the hold is released.
 *
 * A held segment says whose it is in its state: MAM_SEGMENT_HELD + the hold's handle. So equal
 * states are neighbours that join, and everything else that asks for a state sees none of its own.
 *
 *   put      a block ends for its caller; its ground joins the hold.
 *   keep     the same into a loose hold, where neighbours stay apart: a block that will be asked
 *            for again by its own size need be neither joined nor cut.
 *   take     a block from a hold.
 *   absorb   the pool's free ground beside a hold's joins it, for a request that needs both: who
 *            may use held ground may use free ground all the more.
 *   follow   a free list may take segments from an older one of the same stream, which is released
 *            first: a segment that joins the newer list draws its neighbors in older ones along. So
 *            neighbors join as if the stream had one list, and other segments are released early.
 *   offer    a request that makes the pool grow may use a free list meanwhile: the pool grows by as
 *            little as makes one segment of the list large enough.
 *   release  ground of a hold becomes the pool's own, a few segments at a time.
 *   move     all of a hold joins another one: what was loose is joined there.
 *
 * To callers held ground is freed; statistics count it as retired.
 *
 * In a range each part has free lists of its own: a request searches only segments that it may use,
 * and so finds its best fit however many segments the other part has.
 *
 * Bound: O(log n) a block, as for ground of the pool. Memory: a few pages a hold (shelf.h), which stay for
 * the next hold when one ends. lock: pool.
 */
#ifndef MAM_POOL_HOLD_H
#define MAM_POOL_HOLD_H

#include "pool/remap.h"

#define MAM_HOLD_CHAIN_MAX 8 /* free lists, each of which follows the next */

struct mam_hold {
	struct mam_shelf shelf[MAM_RANGE_PARTS]; /* by part of the range; without a range the first */
	uint64_t segments; /* count */
	uint64_t bytes;
	uint32_t idle_next; /* while nobody has it: the next such */
	uint32_t older;     /* the one that it follows; 0: none */
	uint32_t use;       /* count of uses of the record; distinguishes them */
	uint16_t in_use;
	uint16_t loose; /* its segments are blocks as they were, neighbours or not */
} __attribute__((aligned(16)));

_Static_assert(sizeof(struct mam_hold) <= 4096, "a record's most");

static inline bool mam_hold_is(uint32_t state)
{
	return state >= MAM_SEGMENT_HELD;
}

static inline struct mam_hold *mam_hold_at(const struct mam_pool *pool, uint32_t hold)
{
	return (struct mam_hold *)mam_records_at(&pool->holds, hold);
}

/* mam_hold_shelf_at - the free lists that a held segment is in. */
static inline struct mam_shelf *mam_hold_shelf_at(const struct mam_pool *pool,
						  struct mam_hold *hold,
						  const struct mam_segment *segment)
{
	return &hold->shelf[pool->range != NULL ? mam_range_part_at(pool->range, segment) : 0];
}

/* For ground.c: a held segment onto the shelf of its hold, and off it. */
static inline void mam_hold_shelve_locked(struct mam_pool *pool, uint32_t handle)
{
	const struct mam_segment *segment = mam_segment_at(&pool->segments, handle);
	struct mam_hold *hold = mam_hold_at(pool, segment->state - MAM_SEGMENT_HELD);

	hold->segments++;
	hold->bytes += segment->bytes;
	mam_shelf_insert(mam_hold_shelf_at(pool, hold, segment), &pool->segments, handle);
}

static inline void mam_hold_unshelve_locked(struct mam_pool *pool, uint32_t handle)
{
	const struct mam_segment *segment = mam_segment_at(&pool->segments, handle);
	struct mam_hold *hold = mam_hold_at(pool, segment->state - MAM_SEGMENT_HELD);

	hold->segments--;
	hold->bytes -= segment->bytes;
	mam_shelf_remove(mam_hold_shelf_at(pool, hold, segment), &pool->segments, handle);
}

/*
 * mam_hold_begin_locked - an empty hold, which joins; the caller may set `loose`.
 * OUT_OF_HOST_MEMORY, DESTROYED.
 */
enum mam_status mam_hold_begin_locked(struct mam_pool *pool, uint32_t *hold);

/* mam_hold_end_locked - the hold is empty and its handle means nothing any more. */
void mam_hold_end_locked(struct mam_pool *pool, uint32_t hold);

/* mam_hold_put_locked - errors as mam_free(), none of which changes anything. */
enum mam_status mam_hold_put_locked(struct mam_pool *pool, uint32_t hold, uint64_t address);

/* mam_hold_keep_locked - errors as put. pre: the hold is loose. */
enum mam_status mam_hold_keep_locked(struct mam_pool *pool, uint32_t hold, uint64_t address);

/*
 * mam_hold_follow_locked - `hold` is newer than `older` from now on; 0: it follows none. pre: none
 * follows `hold` yet, and neither is loose.
 */
void mam_hold_follow_locked(struct mam_pool *pool, uint32_t hold, uint32_t older);

/*
 * mam_hold_best_locked - the smallest segment that the request fits into, in the list and those that
 * it follows, in a range the smallest in the part for such requests; 0 if there is none. Of equal ones
 * it returns one in the newest list.
 */
uint32_t mam_hold_best_locked(const struct mam_pool *pool, uint32_t hold,
			      const struct mam_request *request);

/*
 * mam_hold_take_locked - a block out of a segment that best found; the rest, before and after it,
 * stays in the list.
 * OUT_OF_HOST_MEMORY.
 */
enum mam_status mam_hold_take_locked(struct mam_pool *pool, uint32_t segment,
				     const struct mam_request *request, void **block);

/*
 * mam_hold_absorb_locked - make a segment that the request fits into out of a segment of the list, or
 * of those that it follows, and of its neighbors that are free or in one of these lists. All of it joins
 * the list, but no more free memory than is needed. False: there is no such run, and nothing changed. Tries the 64
 * largest segments and as many neighbors of each. pre: not loose.
 */
bool mam_hold_absorb_locked(struct mam_pool *pool, uint32_t hold,
			    const struct mam_request *request);

/*
 * mam_hold_offer_locked - the request may use the list for as long as that is in use.
 * mam_hold_serve_locked - a block from free memory, otherwise from the list that was offered, after
 * mam_hold_absorb_locked(). Errors as mam_ground_take_locked().
 * mam_hold_edge_locked - for a request that neither can serve: the run of the offered list, as
 * mam_hold_absorb_locked() finds it, to which the fewest bytes must be added in the unmapped addresses
 * beside it. Returns these bytes, in whole units of the range; 0: there is no such run. pre: the pool
 * has a range.
 */
void mam_hold_offer_locked(const struct mam_pool *pool, uint32_t hold, struct mam_request *request);
enum mam_status mam_hold_serve_locked(struct mam_pool *pool, const struct mam_request *request,
				      void **block);
uint64_t mam_hold_edge_locked(const struct mam_pool *pool, const struct mam_request *request,
			      struct mam_edge *edge);

/*
 * mam_hold_release_locked, mam_hold_move_locked - at most `most` segments; how many. Fewer than
 * that: the hold is empty.
 */
unsigned mam_hold_release_locked(struct mam_pool *pool, uint32_t hold, unsigned most);
unsigned mam_hold_move_locked(struct mam_pool *pool, uint32_t from, uint32_t to, unsigned most);

void mam_holds_fini(struct mam_pool *pool);

/* mam_holds_check - NULL, or one sentence. `segments`, `bytes`: of all holds, as the walk found. */
const char *mam_holds_check(const struct mam_pool *pool, uint64_t segments, uint64_t bytes);

#endif
