/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segments.h - one block for the converged lanes of a warp, each with a size of its own.
 *
 * To allocate, all converged lanes:
 * 1. A vote finds the lanes that request at most MAM_SEGMENTS_MAX bytes. Those share a block. A
 *    larger request gets a block of its own, with one segment, so that a free need not know the
 *    size.
 * 2. Each lane computes the position of its segment (segment.h has the rule). If all sizes are
 *    equal, as is usual, the second segment's distance holds for all that follow. Otherwise there
 *    is a shuffle per lane, in which each lane tracks the end of the segments so far.
 * 3. The lowest lane allocates all of it from the base and broadcasts the address.
 * 4. Each lane writes its header, which marks the first segment and the last (highest) one. When
 *    all headers are written, each lane returns its payload.
 * 5. If the base has no space for all: each lane allocates for itself.
 *
 * To free, one lane:
 * 1. Set FREE in the header. If it is already set, this is a double free, and nothing changes. If
 *    the header did not have LAST at that moment, the free is done.
 * 2. Otherwise go down over segments that are already free, to the first one that is not, and set
 *    LAST in its header: its free now has this task. If it became free at that moment: continue.
 * 3. Past the first segment: free the block to the base.
 *
 * Why each block is freed once, and not too early: call the lane that sets FREE in a segment with
 * LAST the porter. At any time a block has either one live segment that is the last, or one porter,
 * never both. The first such segment is created with the block. One compare-and-swap, which only
 * one lane can win, decides which lane is the porter, as FREE is set once. The lane stops being the
 * porter when it sets LAST in a live segment, or frees the block. All segments above the last, or
 * above the porter's position, are free. So when the porter is past the first segment, all are
 * free; until then some segment is live or the porter has not passed it. A free and a porter that
 * meet at a segment both try to change the same word from "neither free nor last". If the free
 * wins, the porter sees it and continues; if the porter wins, the free sees LAST and is the next
 * porter. No lane waits: a free has two tries at most, and 31 steps down.
 *
 * A lane that stops forever in a free keeps its own block from the base, if it is the porter, and
 * has no other effect: lanes that free another segment of the block just set FREE.
 *
 * Memory order: FREE and LAST are set with release. The porter reads relaxed: FREE in the headers
 * it passes, and in its own the LAST of the previous porter. It has one acquire fence before it
 * sets LAST, and one before it frees the block. So each payload's last use, and each change of a
 * header, happens before the base's free. (A fence that releases too, with LAST set relaxed, would
 * order everything except the setting of LAST itself.) The base orders that before the next alloc,
 * whose leader passes it to the other lanes by a mam_warp_sync(): a shuffle alone orders nothing. A
 * second mam_warp_sync(), after the headers are written, ensures that a lane that has any of the
 * payloads, by whatever means, sees all of the block's headers.
 *
 * Bytes for 32 requests of the same size, compared with headers of 8 bytes and the same alignment:
 *
 *        bytes each        4       16      100      400
 *        here            256    1,024    3,328   13,312
 *        headers of 8    508    1,024    3,580   13,312
 *
 * (4: 8 bytes each; of 1 byte: 4 each, 127 in all.) Sizes of 16 n are aligned to 16, as vectors of
 * four floats require; aligned to 8 they would take 768 and 13,056.
 *
 * Source: Blach, Erhart, Memedi and Schaefer, "Coalescing Memory Allocations for GPU MPI", section
 * 3.2. Ours are: the shortcut for equal sizes; the last segment, too, is marked free before its
 * free goes down, so that of two concurrent frees one detects the double free; the warp is
 * synchronized twice; the base may fail.
 *
 * Bound: to allocate, one call of the base, or two, and as many shuffles as lanes; to free, two
 * loads and compare-and-swaps of the own header, one of each for each segment below that is
 * visited, and one call of the base. A double free is detected as long as the block is not returned
 * to the base.
 */
#ifndef MAM_COALESCE_SEGMENTS_H
#define MAM_COALESCE_SEGMENTS_H

#include "coalesce/base.h"
#include "coalesce/segment.h"
#include "device/lanes.h"

/*
 * Larger requests are not coalesced: they call the base rarely enough, and a block stays allocated
 * until all of it is free. 32 such requests are far below the size that a heap forwards to its
 * host.
 */
#ifndef MAM_SEGMENTS_MAX
#define MAM_SEGMENTS_MAX 4096u
#endif
#if MAM_SEGMENTS_MAX > (1 << 24)
#error "MAM_SEGMENTS_MOST: a block of 32 such segments must have less than 2^30 bytes"
#endif

/* The position of the caller's segment. */
struct mam_segments_place {
	uint32_t at;     /* its payload, relative to the block's begin */
	uint32_t before; /* the preceding payload; 0: it is the first */
	size_t total;    /* bytes of the block */
};

MAM_KFN struct mam_segments_place mam_segments_place_alone(size_t bytes)
{
	struct mam_segments_place place;

	/* Only the alignment of the size matters. */
	place.at = mam_segment_place(0, 0, (uint32_t)(bytes % MAM_SEGMENT_ALIGN));
	place.before = 0;
	place.total = place.at + bytes;
	return place;
}

/* Called by all lanes of `mask`; segments are in the order of the lanes. */
MAM_KFN struct mam_segments_place mam_segments_place_together(uint32_t mask, uint32_t bytes)
{
	uint32_t leader = mam_lanes_leader(mask), rank = mam_lanes_rank(mask);
	uint32_t common = mam_warp_shuffle32(mask, bytes, leader);
	bool same = mam_warp_ballot(mask, bytes == common) == mask;
	uint32_t first = mam_segment_place(0, 0, common);
	uint32_t second = mam_segment_place(first, first + common, common);
	uint32_t before = 0, end = 0, at, one, rest;
	struct mam_segments_place place;

	/* Headers of one size have one distance: all from the second one up. */
	if (same && mam_segment_header(first) == mam_segment_header(second)) {
		second -= first;
		place.at = first + rank * second;
		place.before = rank ? place.at - second : 0;
		place.total = first + (mam_popc32(mask) - 1) * second + common;
		return place;
	}
	place.at = place.before = 0;
	MAM_ROLLED
	for (rest = mask; rest; rest &= rest - 1) {
		one = mam_warp_shuffle32(mask, bytes, mam_ffs32(rest) - 1);
		at = mam_segment_place(before, end, one);
		if (mam_ffs32(rest) - 1 == mam_lane()) {
			place.at = at;
			place.before = before;
		}
		before = at;
		end = at + one;
	}
	place.total = end;
	return place;
}

/* NULL: no space, or `bytes` is 0. Aligned like `bytes`, up to 16, and at least to 2. */
MAM_KFN void *mam_segments_alloc(struct mam_kbase base, size_t bytes)
{
	uint32_t mask = mam_warp_active(), self = 1u << mam_lane();
	uint32_t sharers = mam_warp_ballot(mask, bytes && bytes <= MAM_SEGMENTS_MAX);
	struct mam_segments_place place;
	unsigned char *payload;
	uint64_t block = 0;
	bool shared, last;

	if (!bytes || bytes > ~(size_t)0 - MAM_SEGMENT_ALIGN)
		return NULL;
	if (!(sharers & self) || sharers == self) {
		sharers = self;
		place = mam_segments_place_alone(bytes);
	} else {
		place = mam_segments_place_together(sharers, (uint32_t)bytes);
	}
	MAM_ROLLED
	for (;;) {
		shared = sharers != self;
		if (mam_lanes_leader(sharers) == mam_lane())
			block = (uintptr_t)mam_base_alloc(base, place.total);
		if (shared) {
			mam_warp_sync(sharers);
			block = mam_warp_shuffle64(sharers, block, mam_lanes_leader(sharers));
		}
		if (block || !shared)
			break;
		sharers = self;
		place = mam_segments_place_alone(bytes);
	}
	if (!block)
		return NULL;
	payload = (unsigned char *)(uintptr_t)block + place.at;
	last = (sharers & ~self) < self;
	mam_segment_write(payload, mam_segment_word(place.at - place.before, !place.before, last));
	if (shared)
		mam_warp_sync(sharers);
	return payload;
}

/*
 * Go down from a segment that was the last, with header `word`, and that the caller has freed, to
 * the next live one. Returns the block if there is none: the caller must free it. Otherwise returns
 * NULL. Also stops at a header that is visibly overwritten: then the block is leaked.
 */
MAM_KSLOW void *mam_segments_go_down(unsigned char *payload, uint64_t word)
{
	uint64_t seen;
	uint32_t i;

	MAM_ROLLED
	for (i = 0; i < 32; i++) {
		payload -= mam_segment_distance(word);
		if (word & MAM_SEGMENT_FIRST) {
			mam_fence(MAM_ACQUIRE, MAM_AT_DEVICE);
			return payload;
		}
		word = mam_segment_look(payload);
		if (!mam_segment_plausible((uintptr_t)payload, word))
			return NULL;
		if (word & MAM_SEGMENT_FREE)
			continue;
		mam_fence(MAM_ACQUIRE, MAM_AT_DEVICE);
		seen = mam_segment_swap(payload, word, word | MAM_SEGMENT_LAST);
		if (seen == word)
			return NULL;
		word = seen; /* another lane freed it */
	}
	return NULL; /* no block has so many segments */
}

/*
 * Called by any lane of any kernel. True: freed, or NULL. False: a double free, or visibly not a
 * segment, and nothing has changed; or its block became free, and the base rejected it.
 */
MAM_KFN bool mam_segments_free(struct mam_kbase base, void *segment)
{
	unsigned char *payload = (unsigned char *)segment;
	uint64_t word, seen;
	uint32_t tries = 0;
	void *block;

	if (!payload)
		return true;
	if ((uintptr_t)payload & 1)
		return false;
	word = mam_segment_look(payload);
	MAM_ROLLED
	for (;;) {
		if (word & MAM_SEGMENT_FREE || !mam_segment_plausible((uintptr_t)payload, word))
			return false;
		seen = mam_segment_swap(payload, word, word | MAM_SEGMENT_FREE);
		if (seen == word)
			break;
		/* It became the last, once. Otherwise it is a double free, or not a segment. */
		if (tries++)
			return false;
		word = seen;
	}
	if (!(word & MAM_SEGMENT_LAST))
		return true;
	block = mam_segments_go_down(payload, word);
	return !block || mam_base_free(base, block);
}

#endif
