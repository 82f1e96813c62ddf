/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segments.h - one block for whichever lanes of a warp come together, each with a size of its own.
 *
 * To allocate, all lanes that are here:
 * 1. A vote says who asks for something of MAM_SEGMENTS_MOST bytes at most. Those share a block; what
 *    is larger has one of its own, with one segment in it, so that a free need not know the size.
 * 2. Each lane learns where its segment lies (segment.h says where one goes that is behind another):
 *    all want the same, as is usual, and the second one's distance is that of all behind it; else
 *    by a shuffle a lane, of which each follows the end of what is there so far.
 * 3. The lowest lane asks the base for all of it and tells the others where it is.
 * 4. Each writes its header. The first segment says so, and the highest one that it is the last. When
 *    all have, each has its payload.
 * 5. The base has no room for all: each lane asks for itself.
 *
 * To give back, one lane:
 * 1. Set FREE in the header. It is set already: somebody did this before; nothing is changed. If the
 *    header did not say LAST at that moment, that is all.
 * 2. Else go down over segments that are free already, to the first one that is not, and set LAST in
 *    its header: its free is to do this now. It became free at that moment: go on.
 * 3. Past the first segment: the block goes to the base.
 *
 * Why each block goes back, once, and not too early: call the lane that makes LAST and FREE of LAST
 * the porter. Of each block there is at any time either one live segment that is the last, or one
 * porter, never both: the first of it is made with the block; who is the porter is told by one
 * compare-and-swap that one lane alone can win, as FREE is set once; and he is no more when he set LAST
 * in a live segment, or gave the block away. All segments above the last, or above where the porter
 * stands, are free: so when he is past the first all are, and until then some segment is live or he
 * has not gone by. A free and a porter who meet at a segment both try to change the same word from
 * "neither free nor last": if the free wins, the porter sees it and goes on, if he wins, the free
 * sees LAST and is the next porter. Nobody waits: a free has two tries at most, and 31 steps down.
 *
 * A lane that stops for ever in a free keeps its own block from the base, if it is the porter, and
 * nothing else: who frees another segment of the block just sets FREE.
 *
 * Who orders what: FREE and LAST are set with a release. The porter reads them relaxed, FREE in headers
 * on his way, in his own the LAST of the porter before him, and has one fence that acquires before he
 * sets LAST, and one before he gives the block away: so each payload's last use, and each change of a
 * header, comes before the base's free. (A fence that releases too, and LAST relaxed, would order all
 * but the setting of LAST itself.) The base orders that before the next alloc, whose leader hands it
 * on to the other lanes by a mam_warp_sync(): a shuffle alone would order nothing. A second one after
 * the headers are written says that who has any of the payloads, by whatever way he got it, sees all
 * of the block's headers.
 *
 * Bytes for 32 requests of the same size, and what headers of 8 bytes and the same alignment take:
 *
 *        bytes each        4       16      100      400
 *        here            256    1,024    3,328   13,312
 *        headers of 8    508    1,024    3,580   13,312
 *
 * (4: 8 bytes each; of 1 byte: 4 each, 127 in all.) Sizes of 16 n are aligned to 16, as vectors of
 * four floats need; to 8 they would take 768 and 13,056.
 *
 * Source: Blach, Erhart, Memedi and Schaefer, "Coalescing Memory Allocations for GPU MPI", section
 * 3.2. Ours is the shortcut for equal sizes, and: the last segment, too, is marked free before its
 * free goes down, so that of two that free it at the same time one sees the mistake; the warp is
 * synchronised twice; the base may refuse.
 *
 * Bound: to allocate, one call of the base, or two, and as many shuffles as lanes; to give back, two
 * loads and compare-and-swaps of the own header, one of each for each segment gone down to, and one
 * call of the base. A double free is seen as long as the block is not back at the base.
 */
#ifndef MAM_COALESCE_SEGMENTS_H
#define MAM_COALESCE_SEGMENTS_H

#include "coalesce/base.h"
#include "coalesce/segment.h"
#include "heap/lanes.h"

/*
 * Larger requests are not put together: the base is called seldom enough for them, and a block is held
 * until all of it is free. 32 of these are far below what a heap gives to its host to do.
 */
#ifndef MAM_SEGMENTS_MOST
#define MAM_SEGMENTS_MOST 4096u
#endif
#if MAM_SEGMENTS_MOST > (1 << 24)
#error "MAM_SEGMENTS_MOST: a block of 32 such segments must have less than 2^30 bytes"
#endif

/* Where the caller's segment lies. */
struct mam_segments_place {
	uint32_t at;     /* its payload, from the block's begin */
	uint32_t before; /* the payload in front of it; 0: it is the first */
	size_t total;    /* bytes of the block */
};

MAM_KFN struct mam_segments_place mam_segments_place_alone(size_t bytes)
{
	struct mam_segments_place place;

	/* All that counts of the size is what it is a multiple of. */
	place.at = mam_segment_place(0, 0, (uint32_t)(bytes % MAM_SEGMENT_ALIGN));
	place.before = 0;
	place.total = place.at + bytes;
	return place;
}

/* For the lanes of `mask`, all of which come, in their order. */
MAM_KFN struct mam_segments_place mam_segments_place_together(uint32_t mask, uint32_t bytes)
{
	uint32_t leader = mam_lanes_leader(mask), rank = mam_lanes_rank(mask);
	uint32_t common = mam_warp_shuffle32(mask, bytes, leader);
	bool same = mam_warp_ballot(mask, bytes == common) == mask;
	uint32_t first = mam_segment_place(0, 0, common);
	uint32_t second = mam_segment_place(first, first + common, common);
	uint32_t before = 0, end = 0, at, one, rest;
	struct mam_segments_place place;

	/* Headers of one size lie at one distance: all from the second one on. */
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

/* NULL: no room, or `bytes` is 0. Aligned as `bytes` is, up to 16, and to 2 at least. */
MAM_KFN void *mam_segments_alloc(struct mam_kbase base, size_t bytes)
{
	uint32_t mask = mam_warp_active(), self = 1u << mam_lane();
	uint32_t sharers = mam_warp_ballot(mask, bytes && bytes <= MAM_SEGMENTS_MOST);
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
 * From a segment that was the last, whose word is `word`, and which the caller made free: down to the
 * next one. Gives the block if there is none, which then is the base's, else NULL. A header that was
 * overwritten, as far as that can be seen, ends it, too: its block is lost.
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
		word = seen; /* it is free now */
	}
	return NULL; /* no block has so many */
}

/*
 * By any lane of any kernel. True: done, or NULL. False: it is free already, or visibly no segment, and
 * nothing has changed; or it was the last of its block to be free, and the base does not take that.
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
		/* It became the last, once; else somebody frees it, too, or it is no segment. */
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
