/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scans.h - one scan of the whole heap for all warps that found no room, whatever classes they want.
 *
 * 1. A request that needs a scan adds its classes to `wants`, and draws a number from the heap's
 *    `clock`: `since`.
 * 2. If no scan is running, it begins one: the classes of `wants` become those of the scan,
 *    `wanted`, which draws another number, its `ticket`.
 * 3. All warps that need a scan take pieces of the one that is running, until none is left. A warp
 *    looks at each block of its piece (pass.h), and takes the room that it finds for its own
 *    requests. It records blocks with room for other classes of the scan: the first few in a list,
 *    and all as hints in a row. Then it reports the piece.
 * 4. The warp that reports the last piece ends the scan. Unless a warp was in doubt, the ticket and
 *    the number of blocks are the result of each class, `full`.
 * 5. A scan that ends with a ticket above `since` decides the request if the class's result is that
 *    new. If few blocks had room, it looks at them once more, and takes room there or fails. If many
 *    had, it tries some hints that no other request tries, and without success repeats everything.
 *    Before it fails it does the same for a larger class of which a scan saw a free slot, and for a
 *    larger one again. So a slot of any larger class serves it, if the alignment is sufficient.
 * 6. A warp that waits while no piece is reported for a long time scans alone.
 *
 * Scans use two sets of lists in turn, as requests read those of one while the next one is running. A
 * request that read a list while it was begun again sees another ticket then, and repeats.
 *
 * `work` has the scan's state: whether it is running, the number of pieces that were taken, of those
 * that were reported, and of those that were reported with a doubt. One atomic addition takes a
 * piece, or reports one and takes the next. A scan that is running ends only with the last report, so
 * the number that a warp adds never reaches another scan.
 *
 * Why a result newer than `since` proves that the request must fail: all draws are atomic additions
 * to one counter, which acquire and release, and nothing else changes it. So a scan with a later
 * ticket sees all that the request did before its draw: objects that its lanes freed are free in
 * that scan. A warp that takes a piece acquires what the scan's first warp released. So all looks
 * together, with those of the request at the last blocks, saw each slot of the class and each unit
 * claimed, between the request's draw and now. The result is released after the lists. A number is
 * never reused: it has 60 bits.
 *
 * Why the scan that decides a request mostly has its classes: the request adds them before it draws,
 * and the scan takes them before it draws. If a request's draw is between these two, it repeats.
 *
 * Bound: a scan takes its pieces, divided by the number of warps that take part. A wait takes one
 * scan and a half, if warps that have pieces go on, and otherwise MAM_SCANS_POLLS polls.
 */
#ifndef MAM_HEAP_SLAB_SCANS_H
#define MAM_HEAP_SLAB_SCANS_H

#include "heap/slab/pass.h"

#define MAM_SCANS_POLLS 1000u
#define MAM_SCANS_NS 500u        /* between two of them; up to twice as long */
#define MAM_SCANS_BEGIN_NS 3000u /* before a scan */
#define MAM_SCANS_TRIES 4u       /* of a request, where a scan found much room */
#define MAM_SCANS_BLOCKS 32u     /* of a piece, in a heap of at most MAM_SCANS_PIECES */
#define MAM_SCANS_PIECES 0x8000u /* less than what fits into a field of `work`, by far */

/* In place of a piece. */
#define MAM_SCANS_OVER 0xffffffffu  /* a scan that began after the draw is over */
#define MAM_SCANS_ALONE 0xfffffffeu /* scan alone */

/* `work`: from bit 0 the pieces taken; from bit 20 those reported; from bit 40 those in doubt. */
#define MAM_SCANS_TAKEN 0xfffffu
#define MAM_SCANS_REPORT ((uint64_t)1 << 20)
#define MAM_SCANS_DOUBT ((uint64_t)1 << 40)
#define MAM_SCANS_BEGINS ((uint64_t)1 << 62)
#define MAM_SCANS_RUNS ((uint64_t)1 << 63)

MAM_KFN struct mam_scan *mam_scans_of(const struct mam_kheap *heap, uint32_t class_)
{
	return &mam_metadata_searches(heap)->scans[class_ - 1];
}

/* The binary logarithm of the blocks of a piece. */
MAM_KFN uint32_t mam_scans_shift(const struct mam_kheap *heap)
{
	uint32_t shift = mam_ffs32(MAM_SCANS_BLOCKS) - 1;

	while ((heap->blocks - 1) >> shift >= MAM_SCANS_PIECES)
		shift++;
	return shift;
}

MAM_KFN uint32_t mam_scans_pieces(const struct mam_kheap *heap)
{
	return ((heap->blocks - 1) >> mam_scans_shift(heap)) + 1;
}

/* Draws the next number, at least 1. */
MAM_KSLOW uint64_t mam_scans_draw(const struct mam_kheap *heap)
{
	return mam_atomic_add64(&mam_metadata_searches(heap)->clock, 1, MAM_ACQ_REL,
				MAM_AT_DEVICE) +
	       1;
}

/* Step 1, by one lane. Returns `since`. */
MAM_KSLOW uint64_t mam_scans_want(const struct mam_kheap *heap, const struct mam_kset *mine)
{
	struct mam_scan_shared *shared = &mam_metadata_searches(heap)->shared;
	uint32_t i;

	for (i = 0; i < 2; i++)
		if (mine->has[i] &
		    ~mam_atomic_load64(&shared->wants.has[i], MAM_RELAXED, MAM_AT_DEVICE))
			(void)mam_atomic_or64(&shared->wants.has[i], mine->has[i], MAM_RELEASE,
					      MAM_AT_DEVICE);
	return mam_scans_draw(heap);
}

/* Step 2. pre: the caller has set MAM_SCANS_BEGINS. */
MAM_KSLOW void mam_scans_begin(const struct mam_kheap *heap, const struct mam_kset *mine)
{
	struct mam_scan_shared *shared = &mam_metadata_searches(heap)->shared;
	uint32_t turn = mam_atomic_load32(&shared->turn, MAM_RELAXED, MAM_AT_DEVICE) + 1, i;
	struct mam_scan *scan;
	struct mam_kset set;

	/* A moment for warps that fail at the same time: one scan serves them. */
	mam_nanosleep(MAM_SCANS_BEGIN_NS);
	for (i = 0; i < 2; i++) {
		set.has[i] = mine->has[i] | mam_atomic_xchg64(&shared->wants.has[i], 0, MAM_ACQUIRE,
							      MAM_AT_DEVICE);
		mam_atomic_store64(&shared->wanted.has[i], set.has[i], MAM_RELAXED, MAM_AT_DEVICE);
		mam_atomic_store64(&shared->larger[turn % 2].has[i], 0, MAM_RELAXED, MAM_AT_DEVICE);
	}
	mam_atomic_store32(&shared->turn, turn, MAM_RELAXED, MAM_AT_DEVICE);
	mam_atomic_store64(&shared->ticket[turn % 2], mam_scans_draw(heap), MAM_RELAXED,
			   MAM_AT_DEVICE);
	/* A lane that sees a change of the lists sees the new ticket. */
	mam_fence(MAM_RELEASE, MAM_AT_DEVICE);
	MAM_ROLLED
	while ((i = mam_set_first(&set)) != 0) {
		mam_set_flip(&set, i);
		scan = mam_scans_of(heap, i);
		mam_atomic_store32(&scan->count[turn % 2], 0, MAM_RELAXED, MAM_AT_DEVICE);
		mam_atomic_store32(&scan->next[turn % 2], 0, MAM_RELAXED, MAM_AT_DEVICE);
	}
	mam_atomic_store64(&shared->work, MAM_SCANS_RUNS, MAM_RELEASE, MAM_AT_DEVICE);
	MAM_STEPS_ADD(heap, passes, 1);
}

/*
 * Steps 2, 3 and 6, by one lane; no collectives. Returns a piece, MAM_SCANS_OVER or MAM_SCANS_ALONE.
 */
MAM_KSLOW uint32_t mam_scans_join(const struct mam_kheap *heap, const struct mam_kset *mine,
				  uint64_t since)
{
	struct mam_scan_shared *shared = &mam_metadata_searches(heap)->shared;
	uint32_t polls = MAM_SCANS_POLLS, pieces = mam_scans_pieces(heap);
	uint64_t seen, last = 0;

	MAM_ROLLED
	for (;; polls--) {
		seen = mam_atomic_load64(&shared->work, MAM_RELAXED, MAM_AT_DEVICE);
		polls = seen == last ? polls : MAM_SCANS_POLLS;
		last = seen;
		/* An acquire by each poll would empty the caches of all warps that work. */
		if (mam_atomic_load64(&shared->over, MAM_RELAXED, MAM_AT_DEVICE) > since) {
			mam_fence(MAM_ACQUIRE, MAM_AT_DEVICE);
			return MAM_SCANS_OVER;
		}
		if (!polls)
			return MAM_SCANS_ALONE;
		if (!(seen & (MAM_SCANS_BEGINS | MAM_SCANS_RUNS))) {
			if (mam_atomic_cas64(&shared->work, seen, MAM_SCANS_BEGINS, MAM_ACQUIRE,
					     MAM_AT_DEVICE) == seen)
				mam_scans_begin(heap, mine);
			continue;
		}
		if (seen & MAM_SCANS_RUNS && (seen & MAM_SCANS_TAKEN) < pieces) {
			seen = mam_atomic_add64(&shared->work, 1, MAM_ACQUIRE, MAM_AT_DEVICE);
			if (seen & MAM_SCANS_RUNS && (seen & MAM_SCANS_TAKEN) < pieces)
				return (uint32_t)(seen & MAM_SCANS_TAKEN);
			continue;
		}
		mam_nanosleep(MAM_SCANS_NS + (uint32_t)mam_clock() % MAM_SCANS_NS);
	}
}

/* Where a request may find room after a scan. */
struct mam_kresult {
	uint32_t final; /* 1: nowhere else */
	uint32_t count; /* of `rooms` */
	uint32_t first; /* the one to try first */
	uint32_t tries; /* if not final: so many words of the class's row, from `first` on */
	uint32_t rooms[MAM_SCAN_ROOMS];
};

/*
 * Step 5: sets the result for a class, if it is newer than `since`: all blocks with room, if they are
 * few, otherwise where to begin in the class's row.
 */
MAM_KSLOW void mam_scans_result(const struct mam_kheap *heap, uint32_t class_, uint64_t since,
				struct mam_kresult *result)
{
	struct mam_scan_shared *shared = &mam_metadata_searches(heap)->shared;
	struct mam_scan *scan = mam_scans_of(heap, class_);
	uint64_t full = mam_atomic_load64(&scan->full, MAM_RELAXED, MAM_AT_DEVICE);
	uint32_t count = (uint32_t)full % 16, turn, i;

	result->final = full / 16 > since && count <= MAM_SCAN_ROOMS;
	result->count = result->first = result->tries = 0;
	if (!count || full / 16 <= since)
		return;
	mam_fence(MAM_ACQUIRE, MAM_AT_DEVICE);
	turn = mam_atomic_load64(&shared->ticket[0], MAM_RELAXED, MAM_AT_DEVICE) != full / 16;
	i = mam_atomic_add32(&scan->next[turn], 1, MAM_RELAXED, MAM_AT_DEVICE);
	if (!result->final) {
		result->first = i * MAM_SCANS_TRIES;
		result->tries = MAM_SCANS_TRIES;
		return;
	}
	result->count = count;
	result->first = i % count;
	for (i = 0; i < MAM_SCAN_ROOMS; i++)
		result->rooms[i] =
			mam_atomic_load32(&scan->rooms[turn][i], MAM_RELAXED, MAM_AT_DEVICE);
	mam_fence(MAM_ACQUIRE, MAM_AT_DEVICE);
	/* The next scan but one has begun, and may have changed the list. */
	if (mam_atomic_load64(&shared->ticket[turn], MAM_RELAXED, MAM_AT_DEVICE) != full / 16)
		result->final = 0;
}

/*
 * Whether the last scan for the class found little room. Then a request goes to a scan at once, as a
 * search would mostly find nothing.
 */
MAM_KFN bool mam_scans_dry(const struct mam_kheap *heap, uint32_t class_)
{
	uint64_t full =
		mam_global_load64(&mam_scans_of(heap, class_)->full, MAM_RELAXED, MAM_AT_DEVICE);

	return full && full % 16 <= MAM_SCAN_ROOMS;
}

/*
 * The lowest class above this one of which a recent scan saw a free slot, and whose slots are aligned
 * as those of this class; or 0.
 */
MAM_KSLOW uint32_t mam_scans_larger(const struct mam_kheap *heap, uint32_t class_)
{
	struct mam_kset *seen = mam_metadata_searches(heap)->shared.larger, larger;
	uint32_t quanta = mam_traits_quanta(mam_traits_of(class_)), i;

	/* Slots are aligned to the largest power of two that divides their size. */
	quanta &= 0u - quanta;
	for (i = 0; i < 2; i++)
		larger.has[i] = mam_atomic_load64(&seen[0].has[i], MAM_RELAXED, MAM_AT_DEVICE) |
				mam_atomic_load64(&seen[1].has[i], MAM_RELAXED, MAM_AT_DEVICE);
	larger.has[0] &= class_ < 64 ? ~(uint64_t)1 << class_ : 0;
	larger.has[1] &= class_ < 64 ? ~(uint64_t)0 : ~(uint64_t)1 << (class_ - 64);
	MAM_ROLLED
	while ((i = mam_set_first(&larger)) != 0) {
		if (!(mam_traits_quanta(mam_traits_of(i)) & (quanta - 1)))
			break;
		mam_set_flip(&larger, i);
	}
	return i;
}

/* Sets the other classes of the scan that runs, and its turn. pre: the caller has a piece. */
MAM_KSLOW void mam_scans_wanted(const struct mam_kheap *heap, struct mam_kset *wanted,
				uint32_t *turn)
{
	struct mam_scan_shared *shared = &mam_metadata_searches(heap)->shared;
	uint32_t i;

	for (i = 0; i < 2; i++)
		wanted->has[i] =
			mam_atomic_load64(&shared->wanted.has[i], MAM_RELAXED, MAM_AT_DEVICE);
	*turn = mam_atomic_load32(&shared->turn, MAM_RELAXED, MAM_AT_DEVICE) % 2;
}

/* Step 4, by the lane that has reported the last piece. */
MAM_KSLOW void mam_scans_end(const struct mam_kheap *heap, bool doubt)
{
	struct mam_scan_shared *shared = &mam_metadata_searches(heap)->shared;
	struct mam_scan *scan;
	struct mam_kset set;
	uint32_t turn, count, i;
	uint64_t ticket;

	mam_scans_wanted(heap, &set, &turn);
	ticket = mam_atomic_load64(&shared->ticket[turn], MAM_RELAXED, MAM_AT_DEVICE);
	/* As a release, for all classes. */
	mam_fence(MAM_RELEASE, MAM_AT_DEVICE);
	MAM_ROLLED
	while (!doubt && (i = mam_set_first(&set)) != 0) {
		mam_set_flip(&set, i);
		scan = mam_scans_of(heap, i);
		count = mam_atomic_load32(&scan->count[turn], MAM_RELAXED, MAM_AT_DEVICE);
		count = count <= MAM_SCAN_ROOMS ? count : MAM_SCAN_ROOMS + 1;
		mam_atomic_store64(&scan->full, 16 * ticket + count, MAM_RELAXED, MAM_AT_DEVICE);
	}
	mam_atomic_store64(&shared->over, ticket, MAM_RELEASE, MAM_AT_DEVICE);
	mam_atomic_store64(&shared->work, 0, MAM_RELEASE, MAM_AT_DEVICE);
}

/*
 * Step 3, by one lane: reports a piece, and takes the next one if `more`. Returns it; or the number
 * of pieces or more: it took none.
 */
MAM_KSLOW uint32_t mam_scans_report(const struct mam_kheap *heap, bool doubt, bool more)
{
	struct mam_scan_shared *shared = &mam_metadata_searches(heap)->shared;
	uint64_t seen = MAM_SCANS_REPORT + (doubt ? MAM_SCANS_DOUBT : 0) + more;

	seen += mam_atomic_add64(&shared->work, seen, MAM_ACQ_REL, MAM_AT_DEVICE);
	if ((uint32_t)(seen / MAM_SCANS_REPORT & MAM_SCANS_TAKEN) == mam_scans_pieces(heap))
		mam_scans_end(heap, (seen & ~MAM_SCANS_RUNS) >= MAM_SCANS_DOUBT);
	return more ? (uint32_t)(seen & MAM_SCANS_TAKEN) - 1 : MAM_SCANS_OVER;
}

#endif
