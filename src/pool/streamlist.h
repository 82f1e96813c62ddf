/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streamlist.h - stream free lists (holds): freed memory that is kept apart from the pool's free memory.
 *
 * A stream free list contains memory that its owner above the pool may reuse immediately and other
 * callers not yet: memory that was freed in the order of a stream. It works like the pool's own
 * free memory. Neighbors in one list are joined, and a request takes the best fit and leaves the
 * rest. Neighbors in two lists, or in a list and in the pool's free memory, stay apart until the
 * list is released.
 *
 * The state of a held segment names its list: MAM_SEGMENT_HELD + the list's handle. So neighbors of
 * equal state join, and code that looks for any other state skips held segments.
 *
 *   put      A caller frees a block; its memory joins the list.
 *   keep     The same into a loose list, where neighbors stay apart. A block that will be requested
 *            again in its own size need not be joined and cut.
 *   take     Allocate a block from a list.
 *   absorb   Free memory of the pool beside that of a list joins the list, for a request that needs
 *            both: the owner of the list may use free memory as well.
 *   follow   A free list may take segments from an older one of the same stream, which is released
 *            first: a segment that joins the newer list draws its neighbors in older ones along. So
 *            neighbors join as if the stream had one list, and other segments are released early.
 *   offer    A request that makes the pool grow may use a free list meanwhile: the pool grows by as
 *            little as makes one segment of the list large enough.
 *   release  Memory of a list becomes free memory of the pool, a few segments at a time.
 *   move     All segments of a list join another list; those of a loose list are joined with their
 *            neighbors there.
 *
 * To callers, held memory is freed; statistics count it as retired.
 *
 * In a range each part has free lists of its own: a request searches only segments that it may use,
 * and so finds its best fit however many segments the other part has.
 *
 * Bound: O(log n) per block, as for free memory of the pool. Memory: a few pages per list
 * (freelists.h), which the next list reuses when one ends. lock: pool.
 */
#ifndef MAM_POOL_STREAMLIST_H
#define MAM_POOL_STREAMLIST_H

#include "pool/remap.h"

#define MAM_STREAMLIST_CHAIN_MAX 8 /* free lists, each of which follows the next */

struct mam_streamlist {
	struct mam_freelists freelists[MAM_RANGE_PARTS]; /* by part of the range, or the first */
	uint64_t segments;                               /* count */
	uint64_t bytes;
	uint32_t idle_next; /* next record that is not in use */
	uint32_t older;     /* the list that it follows; 0: none */
	uint32_t use;       /* count of uses of the record; distinguishes them */
	uint16_t in_use;
	uint32_t moving; /* count of pieces that are being mapped elsewhere (alias.c) */
	uint16_t loose;  /* its segments are blocks as they were freed; neighbors are not joined */
} __attribute__((aligned(16)));

_Static_assert(sizeof(struct mam_streamlist) <= 4096, "maximum size of a record");

static inline bool mam_streamlist_is(uint32_t state)
{
	return state >= MAM_SEGMENT_HELD;
}

static inline struct mam_streamlist *mam_streamlist_at(const struct mam_pool *pool, uint32_t list)
{
	return (struct mam_streamlist *)mam_records_at(&pool->holds, list);
}

/* mam_streamlist_freelists_at - the free lists that a held segment is in. */
static inline struct mam_freelists *mam_streamlist_freelists_at(const struct mam_pool *pool,
								struct mam_streamlist *list,
								const struct mam_segment *segment)
{
	return &list->freelists[pool->range != NULL ? mam_range_part_at(pool->range, segment) : 0];
}

/* For space.c: insert a held segment into the free lists of its list, and remove it. */
static inline void mam_streamlist_insert_free_locked(struct mam_pool *pool, uint32_t handle)
{
	const struct mam_segment *segment = mam_segment_at(&pool->segments, handle);
	struct mam_streamlist *list = mam_streamlist_at(pool, segment->state - MAM_SEGMENT_HELD);

	list->segments++;
	list->bytes += segment->bytes;
	mam_freelists_insert(mam_streamlist_freelists_at(pool, list, segment), &pool->segments,
			     handle);
}

static inline void mam_streamlist_remove_free_locked(struct mam_pool *pool, uint32_t handle)
{
	const struct mam_segment *segment = mam_segment_at(&pool->segments, handle);
	struct mam_streamlist *list = mam_streamlist_at(pool, segment->state - MAM_SEGMENT_HELD);

	list->segments--;
	list->bytes -= segment->bytes;
	mam_freelists_remove(mam_streamlist_freelists_at(pool, list, segment), &pool->segments,
			     handle);
}

/*
 * mam_streamlist_begin_locked - make an empty list, which joins neighbors; the caller may set `loose`.
 * OUT_OF_HOST_MEMORY, DESTROYED.
 */
enum mam_status mam_streamlist_begin_locked(struct mam_pool *pool, uint32_t *list);

/* mam_streamlist_end_locked - end an empty list; its handle is invalid afterwards. */
void mam_streamlist_end_locked(struct mam_pool *pool, uint32_t list);

/* mam_streamlist_put_locked - errors as mam_free(); an error changes nothing. */
enum mam_status mam_streamlist_put_locked(struct mam_pool *pool, uint32_t list, uint64_t address);

/* mam_streamlist_keep_locked - errors as put. pre: the list is loose. */
enum mam_status mam_streamlist_keep_locked(struct mam_pool *pool, uint32_t list, uint64_t address);

/*
 * mam_streamlist_follow_locked - make `hold` newer than `older`; 0: it follows no list. pre: no list
 * follows `hold` yet, and neither list is loose.
 */
void mam_streamlist_follow_locked(struct mam_pool *pool, uint32_t list, uint32_t older);

/*
 * mam_streamlist_best_locked - return the smallest segment that the request fits into, in the list and
 * those that it follows, or 0. In a range, only the part for such requests is searched. Of equal
 * segments it returns one in the newest list.
 */
uint32_t mam_streamlist_best_locked(const struct mam_pool *pool, uint32_t list,
				    const struct mam_request *request);

/*
 * mam_streamlist_take_locked - allocate a block from a segment that best returned. The rest, before and
 * after it, stays in the list. OUT_OF_HOST_MEMORY.
 */
enum mam_status mam_streamlist_take_locked(struct mam_pool *pool, uint32_t segment,
					   const struct mam_request *request, void **block);

/*
 * mam_streamlist_absorb_locked - make a segment that the request fits into out of a segment of the list,
 * or of those that it follows, and of its neighbors that are free or in one of these lists. All of
 * it joins the list, but no more free memory than is needed. False: there is no such run, and
 * nothing changed. Tries the 64 largest segments and as many neighbors of each. pre: not loose.
 */
bool mam_streamlist_absorb_locked(struct mam_pool *pool, uint32_t list,
				  const struct mam_request *request);

/*
 * mam_streamlist_offer_locked - the request may use the list for as long as that is in use.
 * mam_streamlist_serve_locked - allocate a block from free memory, otherwise from the offered list, after
 * mam_streamlist_absorb_locked(). Errors as mam_space_take_locked().
 * mam_streamlist_edge_locked - for a request that neither can serve: find the run of the offered list, as
 * mam_streamlist_absorb_locked() does, to which the fewest bytes must be added in the unmapped addresses
 * beside it. Returns these bytes, in whole units of the range; 0: there is no such run. pre: the
 * pool has a range.
 */
void mam_streamlist_offer_locked(const struct mam_pool *pool, uint32_t list,
				 struct mam_request *request);
enum mam_status mam_streamlist_serve_locked(struct mam_pool *pool,
					    const struct mam_request *request, void **block);
uint64_t mam_streamlist_edge_locked(const struct mam_pool *pool, const struct mam_request *request,
				    struct mam_edge *edge);

/*
 * mam_streamlist_release_locked, mam_streamlist_move_locked - process at most `most` segments; return how many.
 * If fewer than `most`, the list is empty.
 */
unsigned mam_streamlist_release_locked(struct mam_pool *pool, uint32_t list, unsigned max);
unsigned mam_streamlist_move_locked(struct mam_pool *pool, uint32_t from, uint32_t to,
				    unsigned max);

/*
 * For alias.c. mam_streamlist_is_offered_locked: whether the request's list is still in use.
 * mam_streamlist_covers_locked: whether a piece that a held segment overlaps contains only memory
 * that is free or in the list or one that it follows, and no held segment below this one: so each
 * piece is found once. It checks 64 segments on each side. mam_streamlist_gather_locked: [from, to),
 * all of it such memory, joins the list; false: it is not. pre: records for two cuts are reserved.
 * mam_streamlist_cut_locked: cut [from, to) out of a held segment; it is in no list afterwards. pre:
 * two records are reserved. mam_streamlist_adopt_locked: a segment that is in no list joins one.
 */
bool mam_streamlist_is_offered_locked(const struct mam_pool *pool,
				      const struct mam_request *request);
bool mam_streamlist_covers_locked(const struct mam_pool *pool, uint32_t handle, uint32_t list,
				  const struct mam_piece *piece);
bool mam_streamlist_gather_locked(struct mam_pool *pool, uint32_t list, uint64_t from, uint64_t to);
uint32_t mam_streamlist_cut_locked(struct mam_pool *pool, uint32_t handle, uint64_t from,
				   uint64_t to);
void mam_streamlist_adopt_locked(struct mam_pool *pool, uint32_t handle, uint32_t list);

void mam_holds_fini(struct mam_pool *pool);

/* mam_holds_bytes - host memory of all lists, unused ones too. */
size_t mam_holds_bytes(const struct mam_pool *pool);

/*
 * mam_holds_check - NULL, or one sentence. `segments`, `bytes`: sums over all lists, found by the
 * scan.
 */
const char *mam_holds_check(const struct mam_pool *pool, uint64_t segments, uint64_t bytes);

#endif
