/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roam.h - a search in a heap that grows: through its parts, and for new memory when they have no
 * room.
 *
 * 1. Claim at the home in the part where requests currently start (`current` of the root's head):
 *    only the part's entry in the table is read.
 * 2. Search that part as any heap (search.h), but briefly, without a scan.
 * 3. The same in the other parts that are not known to be dry (parts.h), in turn.
 * 4. Fetch a grant (grow.h); all lanes that waited for it continue with 2 there.
 * 5. If there is none: scan the root and all parts. A lane that finds nothing gets NULL, counted by
 *    the cause of the refusal.
 *
 * Later requests start where the last search succeeded. Warps may see an old `current` for as long
 * as their kernel runs; that costs them one atomic.
 *
 * Large requests (growth.h) go to the host directly: large.h.
 *
 * Must hold: all code with collectives below mam_roam() is inlined into it (search.h explains why).
 */
#ifndef MAM_HEAP_GROWTH_ROAM_H
#define MAM_HEAP_GROWTH_ROAM_H

#include "heap/growth/grow.h"
#include "heap/growth/large.h"
#include "heap/slab/search.h"

/* More visits to parts than there are, before a grant is fetched. */
#define MAM_ROAM_AGAIN 2u

/* The kind of request: a class, or 0: a run. */
MAM_KFN uint32_t mam_roam_kind(struct mam_kwish wish)
{
	return wish.units ? 0 : wish.class_;
}

/*
 * Searches part `number`, or the root, 0, for the lanes of `mask`; lanes that failed elsewhere try
 * again.
 */
MAM_KFN struct mam_kwish mam_roam_visit(struct mam_kheap *root, struct mam_growth *growth,
					uint32_t number, uint32_t mask, struct mam_keffort effort,
					struct mam_kwish wish)
{
	struct mam_kheap *heap = number ? mam_parts_heap(growth, number) : root;

	if (wish.mine.slot == MAM_SLOT_NONE || wish.mine.slot == MAM_SLOT_REFUSED)
		wish.mine.slot = MAM_NO_SLOT;
	return mam_search_look(root, heap, mask, effort, wish);
}

/*
 * Fetches a grant for all waiting lanes, by the lanes of `mask`. Returns 0 if there are more parts
 * than `seen`, otherwise the cause of the failure.
 */
MAM_KFN uint32_t mam_roam_grow(struct mam_growth *growth, uint32_t mask, uint64_t seen)
{
	uint32_t leader = mam_ffs32(mask) - 1, lower = mask & ((1u << mam_lane()) - 1);
	struct mam_kgrow waiting;
	uint64_t task = 0;

	if (mam_lane() == leader)
		mam_grow_begin(growth, seen, mam_popc32(mask), &waiting);
	for (;;) {
		if (mam_lane() == leader)
			task = mam_grow_step(growth, &waiting);
		task = mam_warp_shuffle64(mask, task, leader);
		if ((task & 255) == MAM_GROW_GROWN)
			return 0;
		if ((task & 255) == MAM_GROW_REFUSED)
			return (uint32_t)(task >> 8);
		if ((task & 255) == MAM_GROW_ZERO) {
			/* All lanes see what the leader has acquired. */
			mam_warp_sync(mask);
			mam_grow_zero(growth, task, mam_popc32(lower), mam_popc32(mask));
			mam_warp_sync(mask);
			if (mam_lane() == leader)
				mam_grow_zeroed(growth, task);
		}
	}
}

/* The counter for a refusal. */
MAM_KFN enum mam_object_tally mam_roam_cause(uint32_t cause)
{
	switch (cause) {
	case MAM_MAIL_LIMIT: return MAM_OBJECT_AT_LIMIT;
	case MAM_MAIL_FULL: return MAM_OBJECT_POOL_FULL;
	case MAM_GROWTH_SILENT: return MAM_OBJECT_SILENT;
	default: return MAM_OBJECT_REFUSED;
	}
}

/* The number of parts; acquires their content. */
MAM_KFN uint32_t mam_roam_parts(struct mam_growth *growth, uint32_t mask)
{
	uint32_t parts =
		(uint32_t)mam_atomic_load64(&growth->parts.value, MAM_ACQUIRE, MAM_AT_DEVICE);

	parts = mam_warp_shuffle32(mask, parts, mam_ffs32(mask) - 1);
	mam_warp_sync(mask);
	return parts;
}

/*
 * Where requests start, maybe stale: the number of a part, or 0 for the root. The same in all
 * lanes.
 */
MAM_KFN uint32_t mam_roam_hint(struct mam_kheap *root, struct mam_growth *growth, uint32_t mask)
{
	uint32_t number = (uint32_t)mam_stale64(&root->current);
	struct mam_kheap head;

	number = mam_warp_shuffle32(mask, number, mam_ffs32(mask) - 1);
	mam_warp_sync(mask);
	if (!number || (number > MAM_PARTS_FIRST && number > mam_roam_parts(growth, mask)))
		return 0;
	head = mam_head_read(mam_parts_heap(growth, number));
	/* A piece of the head may be stale, from before the part existed. */
	if (mam_warp_ballot(mask, !head.space || !head.words || !head.handles || !head.units))
		return 0;
	return number;
}

/*
 * The search in a heap that grows. In turn: the part where requests start; the others that are not
 * dry; then a grant is fetched, and all lanes start there. After a refusal: a scan of the root and
 * every part. A lane that finds nothing there gets NULL, counted by the cause of the refusal.
 */
MAM_KFN struct mam_kwish mam_roam_tour(struct mam_kheap *root, struct mam_growth *growth,
				       uint32_t mask, struct mam_kwish wish)
{
	uint32_t leader = mam_ffs32(mask) - 1, number, visits = 0, cause = 0, next, parts = 0;
	struct mam_keffort effort;
	bool known = false;

	effort.all = false;
	effort.stage = &growth->stage.value;
	number = mam_roam_hint(root, growth, mask);
	effort.was = number;
	for (;;) {
		wish = mam_roam_visit(root, growth, number, mask, effort, wish);
		if (!mam_warp_ballot(mask, mam_search_wants(wish)))
			break;
		if (cause) {
			if (!number)
				break;
			number--;
			continue;
		}
		if (!known) {
			parts = mam_roam_parts(growth, mask);
			known = true;
		}
		next = (uint32_t)mam_atomic_load64(&root->current, MAM_RELAXED, MAM_AT_DEVICE);
		next = mam_warp_shuffle32(mask, next, leader);
		if (next != effort.was) {
			/* Other warps have found room elsewhere since. */
			effort.was = next;
		} else if (mam_search_over(root, mask, effort)) {
			next = MAM_NO_PART;
		} else {
			/*
			 * The lanes' remaining requests; the next part is for the kind of the first
			 * one.
			 */
			if (mam_search_wants(wish))
				mam_parts_mark(growth, mam_roam_kind(wish), number);
			next = mam_warp_ballot(mask, mam_search_wants(wish));
			next = mam_warp_shuffle32(mask, mam_roam_kind(wish), mam_ffs32(next) - 1);
			mam_warp_sync(mask);
			next = mam_parts_next(growth, mask, next, number, parts);
		}
		if (next <= parts && visits++ < parts + MAM_ROAM_AGAIN) {
			number = next;
			continue;
		}
		visits = 0;
		mam_returns_drain_lone(root);
		mam_warp_sync(mask);
		cause = mam_roam_grow(growth, mask, parts);
		parts = mam_roam_parts(growth, mask);
		number = parts;
		effort.was = parts;
		if (cause) {
			effort.all = true;
		} else if (mam_lane() == leader &&
			   mam_atomic_load64(&root->current, MAM_RELAXED, MAM_AT_DEVICE) != parts) {
			/* Lanes that search full parts see it. */
			mam_atomic_store64(&root->current, parts, MAM_RELEASE, MAM_AT_DEVICE);
		}
	}
	visits = mam_warp_ballot(mask, wish.object != NULL);
	if (visits && mam_lane() == leader && effort.was != number)
		mam_atomic_store64(&root->current, number, MAM_RELEASE, MAM_AT_DEVICE);
	visits = mam_warp_ballot(mask, mam_search_wants(wish));
	if (visits && mam_lane() == leader)
		mam_object_tally_add(root, mam_roam_cause(cause), mam_popc32(visits));
	return wish;
}

/*
 * Step 1: claims at the home in the part where requests currently start, by lanes that want one
 * class. Returns the caller's object, or NULL.
 */
MAM_KFN void *mam_roam_current(struct mam_kheap *root, struct mam_growth *growth, uint32_t mask,
			       uint64_t traits)
{
	uint32_t number = mam_roam_hint(root, growth, mask);
	struct mam_kslot mine;
	struct mam_kheap head;

	if (!number)
		return NULL;
	head = mam_head_read(mam_parts_heap(growth, number));
	mine = mam_search_claim(&head, mask, traits, 0);
	return mine.slot < MAM_NO_SLOT ? mam_traits_at(&head, traits, mine.word, mine.slot) : NULL;
}

/* mam_roam - as mam_search(), for a heap that grows. pre: it serves. */
MAM_KSLOW void *mam_roam(struct mam_kheap *heap, uint32_t mask, size_t bytes, struct mam_kslot mine)
{
	struct mam_growth *growth = mam_parts_growth(heap);
	struct mam_kwish wish;
	uint32_t one;

	wish = mam_search_wish(heap, mask, bytes, mine);
	if (bytes > MAM_CLASS_BYTES_MAX && bytes <= (size_t)MAM_LARGE_UNITS << MAM_UNIT_SHIFT)
		wish.units = (uint32_t)((bytes + (1u << MAM_UNIT_SHIFT) - 1) >> MAM_UNIT_SHIFT);
	else if (bytes > MAM_CLASS_BYTES_MAX)
		wish.object = mam_large_alloc(heap, bytes);
	else if (!bytes)
		mam_object_tally_add(heap, MAM_OBJECT_ZERO, 1);
	one = mam_warp_shuffle32(mask, wish.class_, mam_ffs32(mask) - 1);
	if (!mam_warp_ballot(mask, wish.mine.slot != MAM_NO_SLOT || wish.class_ != one)) {
		wish.object = mam_roam_current(heap, growth, mask, mam_traits_of(wish.class_));
		if (wish.object)
			wish.mine.slot = MAM_SLOT_DONE;
	}
	mam_warp_sync(mask);
	if (mam_warp_ballot(mask, mam_search_wants(wish)))
		wish = mam_roam_tour(heap, growth, mask, wish);
	mam_warp_sync(mask);
	return wish.object;
}

#endif
