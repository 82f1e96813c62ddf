/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects.h - objects of any size for kernels: allocate, free, query the size. This is the file to
 * include.
 *
 * To allocate:
 * 1. Lanes that are active together and want the same class have a home (handle.h): one of them
 *    claims one slot per lane there, blindly, by one atomic, and each lane takes one by rank;
 * 2. if no lane got one, a slab is opened at the home if its units are free, and claimed again;
 * 3. lanes that got none there, and all lanes of a warp that wants different classes, look at one
 *    place (glance.h), and are then served by a search (search.h); requests larger than a slab's
 *    slots by runs of units (spans.h). Everything starting with 2 is in one function that is not
 *    inlined.
 *
 * To free: the owner of the unit gives the class, arithmetic the slab and the slot. Lanes with
 * consecutive slots of one word free them by one atomic of one lane; other lanes by one each, all
 * in one round trip. The slot is reusable immediately. Any other address is that of a run, a large
 * object, a part of an object that several lanes have (collective.h), or an invalid free.
 *
 * A thread that allocates an object sees what its last holder wrote before freeing it.
 *
 * Slower alternatives, on an H100, a million threads: the word where the warp's position on its SM
 * found room last in place of the home, 2.5 times slower, as that is another warp's home; a hint
 * written by each free, 1.3 times; sizes by arithmetic in place of a table, and the head read where
 * it is needed, 1.6 times. Relaxed releases would be 1.1 times faster, and wrong.
 *
 * Bound: one atomic for a class of a warp where the home has room; MAM_FIND_TURNS attempts, then the
 * size of the heap in round trips, to find the last slot or none.
 */
#ifndef MAM_HEAP_OBJECTS_OBJECTS_H
#define MAM_HEAP_OBJECTS_OBJECTS_H

#include "heap/objects/collective.h"
#include "heap/growth/roam.h"

/*
 * Returns NULL and counts an error if there is no room, or if `bytes` is 0 or exceeds the heap's
 * size.
 */
MAM_KFN void *mam_objects_alloc(struct mam_kheap *heap, size_t bytes)
{
	uint32_t class_ = mam_class_of(bytes), mask;
	struct mam_kheap head;
	struct mam_kslot mine;
	uint64_t traits, key, one;

	if (!heap)
		return NULL;
	head = mam_head_read(heap);
	/* No branch of its own, so that the whole head is read at once. */
	class_ = mam_search_serves(&head) ? class_ : 0;
	traits = mam_traits_of(class_);
	mine.word = 0;
	mine.slot = class_ ? MAM_NO_SLOT : MAM_SLOT_OUT;
	/*
	 * Equal in lanes that want the same class of one heap: its head is aligned to a cache line.
	 */
	key = (uint64_t)(uintptr_t)heap | class_;
	mask = mam_warp_active();
	if (!(mask & (mask - 1))) {
		if (class_ && !head.current)
			mine = mam_search_claim_lone(&head, traits);
	} else {
		/* By all lanes, also if some of them see that the heap has grown. */
		one = mam_warp_shuffle64(mask, key, mam_ffs32(mask) - 1);
		if (!mam_warp_ballot(mask, head.current || key != one) && class_)
			mine = mam_search_claim(&head, mask, traits);
	}
	if (mam_warp_ballot(mask, mine.slot >= MAM_NO_SLOT)) {
		/* Lanes that use different heaps form groups of their own from here. */
		mask = mam_warp_match64(mask, (uint64_t)(uintptr_t)heap);
		return mam_roam(heap, mask, bytes, mine);
	}
	mam_warp_sync(mask);
	return mam_traits_at(&head, traits, mine.word, mine.slot);
}

/*
 * An object with this owner was freed: its part is no longer dry for objects that may use the
 * memory. That of a short run serves the classes of its size, as a run again.
 */
MAM_KSLOW void mam_objects_wet(struct mam_kheap *root, const void *object, uint32_t owner)
{
	struct mam_growth *growth = mam_parts_growth(root);
	uint32_t number, class_ = owner, n = owner - MAM_OWNER_FEW;

	if (!growth)
		return;
	number = mam_parts_number(growth, object);
	if (owner > MAM_CLASSES) {
		mam_parts_unmark(growth, 0, number);
		if (n - 1 >= MAM_FEW_UNITS)
			return;
		class_ = mam_few_first(n);
		owner = mam_class_of(n << MAM_UNIT_SHIFT);
	}
	MAM_ROLLED
	for (; class_ <= owner; class_++)
		mam_parts_unmark(growth, class_, number);
}

/*
 * Frees the object that starts at an address: a slot, a run of units, or a large object. Returns
 * MAM_OBJECT_TALLIES on success; otherwise the kind of error, and nothing has changed. No
 * collectives.
 */
MAM_KSLOW enum mam_object_tally mam_objects_give(struct mam_kheap *root, void *object)
{
	struct mam_kheap *at = mam_parts_of(root, object);
	struct mam_kplace place;
	uint64_t slot;

	if (!at)
		return mam_place_grows(root) && mam_large_free(root, object) == MAM_LARGE_GIVEN
			       ? MAM_OBJECT_TALLIES
			       : MAM_OBJECT_FOREIGN;
	place = mam_place_of(at, object);
	if (place.owner - 1 < MAM_CLASSES) {
		slot = (uint64_t)1 << place.slot % MAM_NO_SLOT;
		if (place.slot == MAM_NO_SLOT)
			return MAM_OBJECT_INTERIOR;
		mam_collective_wipe(root, object);
		if (mam_slots_release(mam_traits_words(at, place.traits), place.word, slot) & slot)
			return MAM_OBJECT_TWICE;
		mam_objects_wet(root, object, place.owner);
		return MAM_OBJECT_TALLIES;
	}
	if (!place.owner)
		return MAM_OBJECT_FOREIGN;
	if (place.owner == MAM_OWNER_INSIDE ||
	    ((uintptr_t)object - (uintptr_t)at->space) & ((1u << MAM_UNIT_SHIFT) - 1))
		return MAM_OBJECT_INTERIOR;
	mam_collective_wipe(root, object);
	if (!mam_spans_give(at, place.unit, place.owner))
		return MAM_OBJECT_TWICE;
	mam_objects_wet(root, object, place.owner);
	return MAM_OBJECT_TALLIES;
}

/*
 * Looks up a part at an address that is not a live object. Counts `why` if there is no live part.
 */
MAM_KFN struct mam_kpiece mam_objects_look(struct mam_kheap *root, const void *object,
					   enum mam_object_tally why)
{
	struct mam_kpiece piece = mam_collective_at(root, object);

	if (!piece.live)
		mam_object_tally_add(root, piece.whole ? MAM_OBJECT_TWICE : why, 1);
	return piece;
}

/* Finishes the free of a part: frees the object if it was the last part. */
MAM_KFN bool mam_objects_end_part(struct mam_kheap *root, struct mam_collective *whole,
				  enum mam_collective_answer answer)
{
	if (answer == MAM_COLLECTIVE_LAST)
		(void)mam_objects_give(root, whole);
	else if (answer == MAM_COLLECTIVE_TWICE)
		mam_object_tally_add(root, MAM_OBJECT_TWICE, 1);
	return answer != MAM_COLLECTIVE_TWICE;
}

/*
 * Frees one slot for each lane of `mask`, which must be the active lanes. Returns false if the
 * caller's was free.
 */
MAM_KFN bool mam_objects_release(const struct mam_kheap *heap, uint32_t mask,
				 struct mam_kplace place)
{
	uint64_t *word = &mam_traits_words(heap, place.traits)[place.word], given;
	uint64_t where = (uint64_t)(uintptr_t)word;
	uint32_t group = mask, leader, rank, first, old;

	if (mam_warp_ballot(mask, where != mam_warp_shuffle64(mask, where, mam_ffs32(mask) - 1)))
		group = mam_warp_match64(mask, where);
	leader = mam_ffs32(group) - 1;
	rank = mam_popc32(group & ((1u << mam_lane()) - 1));
	first = mam_warp_shuffle32(mask, place.slot, leader);
	given = mam_bits_span(first, mam_popc32(group));
	if (mam_warp_ballot(mask, place.slot != first + rank) & group) {
		/* Not consecutive: each lane by itself. */
		given = (uint64_t)1 << place.slot;
		first = place.slot;
		leader = mam_lane();
		rank = 0;
	}
	/* Orders the writes of all lanes before the leader's release. */
	mam_warp_sync(mask);
	old = 0;
	if (mam_lane() == leader)
		old = (uint32_t)(mam_slots_release(word, 0, given) >> first);
	old = mam_warp_shuffle32(mask, old, leader);
	return !(old >> rank & 1);
}

/*
 * The same for addresses outside of the root's memory, in a function of its own, as few programs
 * need it. Returns the slot, to be passed to mam_objects_free_rest(), or MAM_SLOT_DONE.
 */
MAM_KSLOW uint32_t mam_objects_free_beyond(struct mam_kheap *root, void *object)
{
	struct mam_growth *growth = mam_parts_growth(root);
	uint32_t number = growth ? mam_parts_number(growth, object) : 0;
	struct mam_kheap *at = number ? mam_parts_heap(growth, number) : root, head;
	struct mam_kplace place;

	head = mam_head_read(at);
	place = mam_place_of(&head, object);
	if (place.slot < MAM_NO_SLOT && mam_objects_release(&head, mam_warp_active(), place)) {
		mam_parts_unmark(growth, place.owner, number);
		return MAM_SLOT_DONE;
	}
	return place.slot;
}

/*
 * Frees an address that is not an allocated slot, by lanes that call together. Lanes with
 * consecutive parts of one word clear their bits by one atomic of one lane; other lanes by one
 * each. `slot`: a slot that was already free; MAM_NO_SLOT or more: not a slot.
 */
MAM_KSLOW bool mam_objects_free_rest(struct mam_kheap *root, void *object, uint32_t slot)
{
	uint32_t mask, group, leader, rank, first, given, old = 0;
	enum mam_object_tally why = MAM_OBJECT_TWICE;
	struct mam_kpiece piece;
	uint64_t where;

	if (!mam_search_serves(root)) {
		mam_search_wrong(root);
		return false;
	}
	if (slot < MAM_NO_SLOT) {
		mam_object_tally_add(root, why, 1);
		return false;
	}
	why = mam_objects_give(root, object);
	if (why == MAM_OBJECT_TALLIES)
		return true;
	piece = mam_objects_look(root, object, why);
	if (!piece.live)
		return false;
	mask = mam_warp_active();
	where = (uint64_t)(uintptr_t)mam_collective_word(piece);
	group = mam_warp_match64(mask, where);
	leader = mam_ffs32(group) - 1;
	rank = mam_popc32(group & ((1u << mam_lane()) - 1));
	piece.part %= MAM_COLLECTIVE_WORD;
	first = mam_warp_shuffle32(mask, piece.part, leader);
	given = (uint32_t)mam_bits_span(first, mam_popc32(group));
	if (mam_warp_ballot(mask, piece.part != first + rank) & group) {
		/* Not consecutive: each lane by itself. */
		given = 1u << piece.part;
		leader = mam_lane();
	}
	/* Orders the accesses of all lanes before the leader's release. */
	mam_warp_sync(mask);
	if (mam_lane() == leader)
		old = mam_collective_leave((uint32_t *)(uintptr_t)where, given);
	old = mam_warp_shuffle32(mask, old, leader);
	if (mam_lane() == leader && mam_collective_emptied(old, given) &&
	    mam_collective_empty(piece, 1))
		(void)mam_objects_end_part(root, piece.whole, MAM_COLLECTIVE_LAST);
	if (!(old >> piece.part & 1))
		mam_object_tally_add(root, MAM_OBJECT_TWICE, 1);
	return old >> piece.part & 1;
}

/* Frees a run of at most 8 units that starts at `unit` of the root, by a lane without the others. */
MAM_KSLOW bool mam_objects_free_few(struct mam_kheap *root, void *object, uint32_t unit,
				    uint32_t owner)
{
	mam_collective_wipe(root, object);
	if (!mam_spans_give(root, unit, owner)) {
		mam_object_tally_add(root, MAM_OBJECT_TWICE, 1);
		return false;
	}
	mam_objects_wet(root, object, owner);
	return true;
}

/*
 * Returns true if the object was freed or is NULL. Returns false and counts an error if it is not
 * allocated, or not the first byte of an object or of a part; nothing has changed then.
 */
MAM_KFN bool mam_objects_free(struct mam_kheap *heap, void *object)
{
	struct mam_kplace place;
	struct mam_kheap head;

	if (!object)
		return true;
	if (!heap)
		return false;
	head = mam_head_read(heap);
	/* No branch of its own, as above: a heap of 0 blocks contains no address. */
	head.blocks = mam_search_serves(&head) ? head.blocks : 0;
	place = mam_place_of(&head, object);
	if (place.slot < MAM_NO_SLOT && mam_objects_release(&head, mam_warp_active(), place)) {
		if (head.current)
			mam_objects_wet(heap, object, place.owner);
		return true;
	}
	if (place.owner - MAM_OWNER_FEW - 1 < MAM_FEW_UNITS &&
	    !((uintptr_t)object & ((1u << MAM_UNIT_SHIFT) - 1)))
		return mam_objects_free_few(heap, object, place.unit, place.owner);
	if (place.slot == MAM_SLOT_OUT && mam_place_grows(heap))
		place.slot = mam_objects_free_beyond(heap, object);
	return place.slot == MAM_SLOT_DONE || mam_objects_free_rest(heap, object, place.slot);
}

/* Frees a part, by a single lane; `why`: the error if there is no part. */
MAM_KSLOW bool mam_objects_part_lone(struct mam_kheap *heap, void *object,
				     enum mam_object_tally why)
{
	struct mam_kpiece piece = mam_objects_look(heap, object, why);

	return piece.live && mam_objects_end_part(heap, piece.whole, mam_collective_drop(piece));
}

/*
 * The same by a lone lane, or one that may act as one: no collectives, and small where it is
 * called. The host frees whole objects this way, too, as it sees no parts (mam_heap_walk()).
 */
MAM_KSLOW bool mam_objects_free_lone(struct mam_kheap *heap, void *object)
{
	enum mam_object_tally why;

	if (!object)
		return true;
	if (!heap)
		return false;
	if (!mam_search_serves(heap)) {
		mam_search_wrong(heap);
		return false;
	}
	why = mam_objects_give(heap, object);
	if (why == MAM_OBJECT_TALLIES)
		return true;
	return mam_objects_part_lone(heap, object, why);
}

/*
 * Frees all parts of an object, by a lane that passes one of them; returns as the free of that
 * part.
 */
MAM_KSLOW bool mam_objects_free_parts(struct mam_kheap *heap, void *part)
{
	struct mam_kpiece piece;

	if (!part)
		return true;
	if (!heap)
		return false;
	if (!mam_search_serves(heap)) {
		mam_search_wrong(heap);
		return false;
	}
	piece = mam_collective_at(heap, part);
	if (!piece.live) {
		mam_object_tally_add(heap,
				     piece.whole    ? MAM_OBJECT_TWICE
				     : piece.inside ? MAM_OBJECT_INTERIOR
						    : MAM_OBJECT_FOREIGN,
				     1);
		return false;
	}
	return mam_objects_end_part(heap, piece.whole, mam_collective_drop_all(piece));
}

/*
 * Returns the usable bytes at `object`; 0 if it is not allocated, or not the first byte of an
 * object or of a part.
 */
MAM_KFN size_t mam_objects_usable(struct mam_kheap *heap, const void *object)
{
	struct mam_kplace place;
	struct mam_kheap *at;
	uint64_t offset;
	size_t bytes;

	if (!object || !heap || !mam_search_serves(heap))
		return 0;
	at = mam_parts_of(heap, object);
	if (!at) {
		bytes = mam_place_grows(heap) ? mam_large_usable(heap, object) : 0;
		return bytes ? bytes : mam_collective_usable(heap, object);
	}
	offset = (uint64_t)((uintptr_t)object - (uintptr_t)at->space);
	place = mam_place_of(at, object);
	if (place.owner - 1 < MAM_CLASSES && place.slot != MAM_NO_SLOT) {
		if (mam_slots_load(mam_traits_words(at, place.traits), place.word) >> place.slot &
		    1)
			return 0;
		return mam_traits_bytes(place.traits);
	}
	if (!place.owner)
		return 0;
	if (place.owner - 1 < MAM_CLASSES || place.owner == MAM_OWNER_INSIDE ||
	    offset & ((1u << MAM_UNIT_SHIFT) - 1))
		return mam_collective_usable(heap, object);
	return (size_t)mam_spans_length(at, place.unit, place.owner) << MAM_UNIT_SHIFT;
}

#endif
