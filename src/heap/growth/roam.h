/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roam.h - the search in a heap for requests that the home does not serve; in one that grows:
 * through its parts, and for new memory when they have no room.
 *
 * A heap that does not grow is searched once, completely (search.h). In one that grows:
 * 1. Claim at the home in the part where requests currently start (`current` of the root's head):
 *    only the part's entry in the table is read.
 * 2. Search that part as any heap, but briefly, without a scan.
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
 * Must hold: all code with collectives below mam_roam() is inlined into it (search.h explains why), and
 * keeps little across a call (request.h explains why).
 */
#ifndef MAM_HEAP_GROWTH_ROAM_H
#define MAM_HEAP_GROWTH_ROAM_H

#include "heap/growth/grow.h"
#include "heap/growth/large.h"
#include "heap/slab/search.h"

/* More visits to parts than there are, before a grant is fetched. */
#define MAM_ROAM_AGAIN 2u

/* The search of a lane through a heap and its parts; in memory, as its request. */
struct mam_kroam {
	struct mam_krequest request;
	struct mam_growth *growth; /* NULL: the heap does not grow */
	uint32_t class_;           /* of the request, which may take a larger one in one part */
	uint32_t number;           /* of the part that is searched; 0: the root */
	uint32_t parts;            /* count, as last read */
	uint32_t known;            /* 1: `parts` was read */
	uint32_t visits;           /* to parts since the last grant */
	uint32_t cause;            /* why there was no grant; 0: none was refused */
};

/* The kind of request: a class, or 0: a run. */
MAM_KFN uint32_t mam_roam_kind(const struct mam_krequest *request)
{
	return request->units ? 0 : request->class_;
}

/*
 * Searches the part `number`, or the root, for the lanes of `mask`; lanes that failed elsewhere try
 * again.
 */
MAM_KFN void mam_roam_visit(struct mam_kroam *roam)
{
	struct mam_krequest *request = &roam->request;

	request->heap = roam->number ? mam_parts_heap(roam->growth, roam->number) : request->root;
	request->class_ = roam->class_;
	if (request->mine.slot == MAM_SLOT_NONE || request->mine.slot == MAM_SLOT_REFUSED)
		request->mine.slot = MAM_NO_SLOT;
	mam_search_look(request);
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
 * The part to search next, or MAM_NO_PART: a grant is needed. The same in all lanes of `mask`.
 */
MAM_KFN uint32_t mam_roam_next(struct mam_kroam *roam)
{
	struct mam_krequest *request = &roam->request;
	uint32_t leader = mam_ffs32(roam->request.mask) - 1, next;

	if (!roam->known) {
		roam->parts = mam_roam_parts(roam->growth, roam->request.mask);
		roam->known = 1;
	}
	next = (uint32_t)mam_atomic_load64(&request->root->current, MAM_RELAXED, MAM_AT_DEVICE);
	next = mam_warp_shuffle32(roam->request.mask, next, leader);
	if (next != request->was) {
		/* Other warps have found room elsewhere since. */
		request->was = next;
	} else if (mam_search_over(request)) {
		next = MAM_NO_PART;
	} else {
		/* The lanes' remaining requests; the next part is for the kind of the first one. */
		if (mam_search_wants(request))
			mam_parts_mark(roam->growth, mam_roam_kind(request), roam->number);
		next = mam_warp_ballot(roam->request.mask, mam_search_wants(request));
		next = mam_warp_shuffle32(roam->request.mask, mam_roam_kind(request),
					  mam_ffs32(next) - 1);
		mam_warp_sync(roam->request.mask);
		next = mam_parts_next(roam->growth, roam->request.mask, next, roam->number,
				      roam->parts);
	}
	return next <= roam->parts && roam->visits++ < roam->parts + MAM_ROAM_AGAIN ? next
										    : MAM_NO_PART;
}

/* Fetches a grant; after a refusal, everything is scanned. */
MAM_KFN void mam_roam_fetch(struct mam_kroam *roam)
{
	struct mam_kheap *root = roam->request.root;

	roam->visits = 0;
	mam_returns_drain_lone(root);
	mam_warp_sync(roam->request.mask);
	roam->cause = mam_roam_grow(roam->growth, roam->request.mask, roam->parts);
	roam->parts = mam_roam_parts(roam->growth, roam->request.mask);
	roam->number = roam->parts;
	roam->request.was = roam->parts;
	if (roam->cause) {
		roam->request.all = true;
	} else if (mam_lane() == mam_ffs32(roam->request.mask) - 1 &&
		   mam_atomic_load64(&root->current, MAM_RELAXED, MAM_AT_DEVICE) != roam->parts) {
		/* Lanes that search full parts see it. */
		mam_atomic_store64(&root->current, roam->parts, MAM_RELEASE, MAM_AT_DEVICE);
	}
}

/*
 * The search of a heap that grows. In turn: the part where requests start; the others that are not
 * dry; then a grant is fetched, and all lanes start there. After a refusal: a scan of the root and
 * every part. A lane that finds nothing there gets NULL, counted by the cause of the refusal.
 */
MAM_KFN void mam_roam_tour(struct mam_kroam *roam)
{
	struct mam_krequest *request = &roam->request;
	uint32_t next;

	for (;;) {
		mam_roam_visit(roam);
		if (!roam->growth)
			return;
		if (!mam_warp_ballot(roam->request.mask, mam_search_wants(request)))
			break;
		if (roam->cause) {
			if (!roam->number)
				break;
			roam->number--;
			continue;
		}
		next = mam_roam_next(roam);
		if (next != MAM_NO_PART)
			roam->number = next;
		else
			mam_roam_fetch(roam);
	}
	next = mam_warp_ballot(roam->request.mask, request->object != NULL);
	if (next && mam_lane() == mam_ffs32(roam->request.mask) - 1 && request->was != roam->number)
		mam_atomic_store64(&request->root->current, roam->number, MAM_RELEASE,
				   MAM_AT_DEVICE);
	next = mam_warp_ballot(roam->request.mask, mam_search_wants(request));
	if (next && mam_lane() == mam_ffs32(roam->request.mask) - 1)
		mam_object_tally_add(request->root, mam_roam_cause(roam->cause), mam_popc32(next));
}

/*
 * Step 1: claims at the home in the part where requests currently start, by lanes that want one
 * class. Sets `object` of those that win.
 */
MAM_KFN void mam_roam_current(struct mam_kroam *roam)
{
	const struct mam_kheap head = mam_head_read(mam_parts_heap(roam->growth, roam->number));
	uint64_t traits = mam_traits_of(roam->request.class_);
	struct mam_kslot mine = mam_search_claim(&head, roam->request.mask, traits);

	if (mine.slot >= MAM_NO_SLOT)
		return;
	roam->request.object = mam_traits_at(&head, traits, mine.word, mine.slot);
	roam->request.mine.slot = MAM_SLOT_DONE;
}

/* Sets the request of a lane for so many bytes that are not in a class: a run, or a large object. */
MAM_KFN void mam_roam_run(struct mam_kroam *roam, size_t bytes)
{
	struct mam_kheap *root = roam->request.root;

	if (!roam->growth)
		roam->request.units = mam_spans_units(root, bytes);
	else if (bytes <= (size_t)MAM_LARGE_UNITS << MAM_UNIT_SHIFT)
		roam->request.units =
			(uint32_t)((bytes + (1u << MAM_UNIT_SHIFT) - 1) >> MAM_UNIT_SHIFT);
	else
		roam->request.object = mam_large_alloc(root, bytes);
	if (!roam->growth && !roam->request.units)
		mam_object_tally_add(root, MAM_OBJECT_TOO_LARGE, 1);
}

/* The request of a lane that has this slot. */
MAM_KFN void mam_roam_begin(struct mam_kroam *roam, struct mam_kheap *heap, uint32_t mask,
			    size_t bytes, struct mam_kslot mine, void *object)
{
	struct mam_krequest *request = &roam->request;

	roam->growth = mam_parts_growing(heap);
	roam->number = roam->known = roam->visits = roam->cause = 0;
	request->mask = mask;
	request->root = heap;
	request->object = object;
	request->class_ = mam_class_of(bytes);
	request->class_ = request->class_ ? request->class_ : 1;
	roam->class_ = request->class_;
	request->units = 0;
	request->mine = mine;
	request->stage = roam->growth ? &roam->growth->stage.value : NULL;
	request->all = !roam->growth;
	if (mine.slot < MAM_NO_SLOT)
		request->object = mam_metadata_at(heap, request->class_, mine.word, mine.slot);
	if (request->object)
		request->mine.slot = MAM_SLOT_DONE;
	if (bytes > MAM_CLASS_BYTES_MAX)
		mam_roam_run(roam, bytes);
	else if (!bytes)
		mam_object_tally_add(heap, MAM_OBJECT_ZERO, 1);
}

/* The home of lanes that want one class, none of which won there: opened if it is not (glance.h). */
MAM_KFN struct mam_kslot mam_roam_home(struct mam_kheap *heap, uint32_t mask, uint32_t class_)
{
	uint32_t round = mam_traits_round_shift(mam_traits_of(class_)), lanes = mam_popc32(mask);
	uint32_t rank = mam_popc32(mask & ((1u << mam_lane()) - 1)), first = rank >> round << round;
	uint32_t leader = mam_bits_nth(mask, first), n = lanes - first;
	struct mam_kslot mine;
	uint64_t own, won = 0;

	n = n < 1u << round ? n : 1u << round;
	n = mam_find_need(class_, n, lanes, first);
	if (mam_lane() == leader)
		won = mam_glance_home(heap, n);
	mam_warp_sync(mask);
	won = mam_warp_shuffle64(mask, won, leader);
	mine.word = mam_find_home(heap, n, 0, &own);
	mine.slot = MAM_NO_SLOT;
	rank -= first;
	if (rank < mam_popc64(won))
		mine.slot = mam_slots_pick(won, rank);
	return mine;
}

/*
 * A first look by the lanes of `mask`, in a heap that does not grow: the objects of those that won at
 * home, and of those that find room at once (glance.h).
 */
MAM_KFN void *mam_roam_glance(struct mam_kheap *heap, uint32_t mask, uint32_t class_,
			      struct mam_kslot mine)
{
	uint32_t one = mam_warp_shuffle32(mask, class_, mam_ffs32(mask) - 1), rank, same = mask;
	uint32_t mixed = mam_warp_ballot(mask, class_ != one);
	void *object = NULL;

	if (!mixed && !mam_warp_ballot(mask, mine.slot != MAM_NO_SLOT))
		mine = mam_roam_home(heap, mask, class_);
	if (mine.slot < MAM_NO_SLOT)
		object = mam_metadata_at(heap, class_, mine.word, mine.slot);
	if (mixed) {
		object = mam_cut(heap, mask, class_, mine.slot == MAM_NO_SLOT);
		mine.slot = object ? MAM_SLOT_DONE : mine.slot;
		same = mam_warp_match32(mask, class_);
	}
	rank = mam_popc32(same & ((1u << mam_lane()) - 1)) | mam_popc32(mask) << 16;
	rank |= mixed ? MAM_GLANCE_MIXED : 0;
	rank |= mam_warp_ballot(mask, object != NULL) ? MAM_GLANCE_WON : 0;
	if (mine.slot == MAM_NO_SLOT)
		object = mam_glance(heap, class_, rank);
	mam_warp_sync(mask);
	return object;
}

/*
 * mam_roam - allocates for the lanes of `mask`, which must be the active lanes that use this heap.
 * `mine` is the caller's slot, if it has one. Returns NULL, and counts an error, if there is no room
 * or the heap is of another kind. One function for all heaps: the first warp that gets here waits
 * for its code.
 */
MAM_KSLOW void *mam_roam(struct mam_kheap *heap, uint32_t mask, size_t bytes, struct mam_kslot mine)
{
	struct mam_krequest *request;
	struct mam_kroam roam;
	void *object = NULL;
	uint32_t one;

	if (!mam_search_serves(heap)) {
		mam_search_wrong(heap);
		return NULL;
	}
	if (!mam_parts_growing(heap)) {
		object = mam_roam_glance(heap, mask, mam_class_of(bytes), mine);
		if (!mam_warp_ballot(mask, !object))
			return object;
	}
	if (mam_lane() == mam_ffs32(mask) - 1)
		MAM_STEPS_ADD(heap, searches, 1);
	request = &roam.request;
	mam_roam_begin(&roam, heap, mask, bytes, mine, object);
	if (roam.growth) {
		one = mam_warp_shuffle32(mask, request->class_, mam_ffs32(mask) - 1);
		roam.number = mam_roam_hint(heap, roam.growth, mask);
		if (roam.number && !mam_warp_ballot(mask, request->mine.slot != MAM_NO_SLOT ||
								  request->class_ != one))
			mam_roam_current(&roam);
	}
	request->was = roam.number;
	mam_warp_sync(request->mask);
	if (mam_warp_ballot(request->mask, mam_search_wants(request)))
		mam_roam_tour(&roam);
	mam_warp_sync(request->mask);
	return request->object;
}

#endif
