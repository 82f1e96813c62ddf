/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range_check.c - invariants of a range between calls (pool.h, 5), in C: one scan over each part. Also
 * the sum of its unmapped bytes.
 */
#include "pool/range.h"

#include "index/addrtree.h"
#include "pool/alias.h"

static uint32_t lowest(const struct mam_pool *pool, const struct mam_range_part *part)
{
	return mam_addrtree_find(&pool->segments, pool->by_address, part->pieces.base);
}

static bool has_memory(uint32_t state)
{
	return state != MAM_SEGMENT_UNMAPPED && state != MAM_SEGMENT_MOVING &&
	       state != MAM_SEGMENT_LOST && state != MAM_SEGMENT_LEAVING;
}

/*
 * Mapped segments consist of whole pieces without gaps, unmapped ones of none. Adds the pieces'
 * bytes.
 */
static const char *check_part(const struct mam_pool *pool, const struct mam_range_part *part,
			      uint64_t *bytes, bool *moving, uint64_t *leaving)
{
	const struct mam_segment *segment;
	struct mam_piece piece;
	uint32_t at = lowest(pool, part);
	uint64_t run;

	while (at != 0) {
		segment = mam_segment_at(&pool->segments, at);
		run = segment->base;
		if (!has_memory(segment->state)) {
			*moving |= segment->state == MAM_SEGMENT_MOVING;
			*leaving += segment->state == MAM_SEGMENT_LEAVING;
			if (segment->state != MAM_SEGMENT_MOVING &&
			    segment->state != MAM_SEGMENT_LEAVING &&
			    mam_pieces_first(&part->pieces, run, mam_segment_end(segment), &piece))
				return "an unmapped segment contains a mapped piece";
			at = segment->next;
			continue;
		}
		while (segment->next != 0 &&
		       has_memory(mam_segment_at(&pool->segments, segment->next)->state))
			segment = mam_segment_at(&pool->segments, segment->next);
		if (!mam_pieces_tile(&part->pieces, run, mam_segment_end(segment)))
			return "a mapped segment does not consist of whole pieces";
		*bytes += mam_segment_end(segment) - run;
		at = segment->next;
	}
	return NULL;
}

const char *mam_range_fault_locked(const struct mam_pool *pool, uint64_t free_blocks,
				   uint64_t unmapped)
{
	uint64_t found, found_free_blocks = 0, found_unmapped = 0, bytes = 0, leaving = 0;
	const char *fault = NULL;
	bool moving = false;

	for (int i = 0; i < MAM_RANGE_PARTS && fault == NULL; i++) {
		const struct mam_range_part *part = &pool->range->part[i];

		fault = mam_freelists_check(&part->free_blocks, &pool->segments, &found);
		if (fault == NULL) {
			found_free_blocks += found;
			fault = mam_freelists_check(&part->unmapped, &pool->segments, &found);
			found_unmapped += found;
		}
		if (fault == NULL)
			fault = check_part(pool, part, &bytes, &moving, &leaving);
	}
	if (fault == NULL)
		fault = mam_alias_fault_locked(pool, leaving);
	if (fault == NULL && found_free_blocks != free_blocks)
		fault = "the free lists do not contain exactly the free segments";
	if (fault == NULL && found_unmapped != unmapped)
		fault = "the free lists do not contain exactly the unmapped segments";
	/* While a piece moves, it is counted but not in any segment. */
	if (fault == NULL && !moving &&
	    bytes != pool->counts.physical_bytes + pool->counts.suspended_bytes)
		fault = "the count of physical bytes is wrong";
	return fault;
}

uint64_t mam_range_unmapped_locked(const struct mam_pool *pool, uint64_t *count)
{
	uint64_t bytes = 0;
	uint32_t at = mam_addrtree_first(&pool->segments, pool->by_address);

	*count = 0;
	for (; at != 0; at = mam_addrtree_next(&pool->segments, at)) {
		uint32_t state = mam_segment_at(&pool->segments, at)->state;

		if (state == MAM_SEGMENT_UNMAPPED || state == MAM_SEGMENT_MOVING ||
		    state == MAM_SEGMENT_LOST || state == MAM_SEGMENT_LEAVING) {
			(*count)++;
			bytes += mam_segment_at(&pool->segments, at)->bytes;
		}
	}
	return bytes;
}
