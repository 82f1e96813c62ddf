/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scans.h - shares scans among requests: if one scan finds no room for a class (pass.h), all
 * requests that began before that scan fail by it.
 *
 * 1. A request that needs a scan draws a number from the heap's `clock`: `since`.
 * 2. It waits for its class until a result is newer than `since`, and fails; or until no scan of
 *    the class is running, and claims the next turn; or until a scan that began meanwhile found
 *    room, and scans at once; or for a limited time, and then takes over the turn, or scans without
 *    one.
 * 3. A request that scans draws another number first, its ticket. If the scan finds no room, the
 *    ticket is the class's result, `vain`.
 *
 * Why a result newer than `since` proves that the request must fail: all draws are atomic additions
 * to one counter, which acquire and release, and nothing else changes it. So a scan with a later
 * ticket sees all that the request did before its draw: objects that its lanes freed are free in
 * that scan. That scan saw each slot of the class and each unit claimed, between the request's draw
 * and now. The result itself needs no order, as only its number matters, and a number is never
 * reused: it has 64 bits.
 *
 * The turn only limits how many warps scan at once: no result depends on it. It is odd while a scan
 * is running. So it may be taken over from a warp that has stopped, and a scan without a turn
 * publishes its result, too.
 *
 * Why requests do not wait after a scan that found room: there may be room for all of them, and
 * they would get it one after the other.
 *
 * Bound: MAM_SCANS_POLLS polls, and about as long as two scans take.
 */
#ifndef MAM_HEAP_SLAB_SCANS_H
#define MAM_HEAP_SLAB_SCANS_H

#include "heap/slab/slots.h"

#define MAM_SCANS_POLLS 200u
#define MAM_SCANS_NS 1000u /* between two of them; up to twice as long */

/* In place of a turn, which is odd. */
#define MAM_SCANS_VAIN 0u /* another scan proves that there is no room */
#define MAM_SCANS_ALONE 2u

MAM_KFN struct mam_scan *mam_scans_of(const struct mam_kheap *heap, uint32_t class_)
{
	return &mam_metadata_searches(heap)->scans[class_ - 1];
}

/* Draws the next number, at least 1. */
MAM_KSLOW uint64_t mam_scans_draw(const struct mam_kheap *heap)
{
	return mam_atomic_add64(&mam_metadata_searches(heap)->clock, 1, MAM_ACQ_REL,
				MAM_AT_DEVICE) +
	       1;
}

/*
 * Step 2, by one lane; no collectives. `blocks`: that the caller's scan has to check one after the
 * other. Returns MAM_SCANS_VAIN, or a turn or MAM_SCANS_ALONE for mam_scans_end().
 */
MAM_KSLOW uint32_t mam_scans_wait(const struct mam_kheap *heap, uint32_t class_, uint64_t since,
				  uint32_t blocks)
{
	struct mam_scan *scan = mam_scans_of(heap, class_);
	uint32_t polls = MAM_SCANS_POLLS + 32 * blocks, turn, next, first = 0;

	MAM_ROLLED
	for (;; polls--) {
		turn = mam_atomic_load32(&scan->turn, MAM_RELAXED, MAM_AT_DEVICE);
		if (mam_global_load64(&scan->vain, MAM_RELAXED, MAM_AT_DEVICE) > since)
			return MAM_SCANS_VAIN;
		/* The next scan's turn, and that of the first one that begins meanwhile. */
		next = (turn + 1) | 1;
		first = first ? first : next;
		if ((!(turn & 1) || !polls) &&
		    mam_atomic_cas32(&scan->turn, turn, next, MAM_RELAXED, MAM_AT_DEVICE) == turn)
			return next;
		if (!polls || (int32_t)(turn - first) > 0)
			return MAM_SCANS_ALONE;
		mam_nanosleep(MAM_SCANS_NS + (uint32_t)mam_clock() % MAM_SCANS_NS);
	}
}

/* The caller's scan is over; `ticket`: if it found no room, otherwise 0. */
MAM_KSLOW void mam_scans_end(const struct mam_kheap *heap, uint32_t class_, uint32_t turn,
			     uint64_t ticket)
{
	struct mam_scan *scan = mam_scans_of(heap, class_);

	/* Two scans may end at once, and store the older result last: then others scan again. */
	if (ticket > mam_global_load64(&scan->vain, MAM_RELAXED, MAM_AT_DEVICE))
		mam_atomic_store64(&scan->vain, ticket, MAM_RELAXED, MAM_AT_DEVICE);
	/* As a release: a lane that sees that the scan has ended mostly sees its result. */
	if (turn & 1)
		(void)mam_atomic_cas32(&scan->turn, turn, turn + 1, MAM_RELEASE, MAM_AT_DEVICE);
}

#endif
