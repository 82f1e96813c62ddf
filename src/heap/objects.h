/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects.h - objects of any size for kernels: allocate, give back, ask how large. This is the file
 * to include.
 *
 * To allocate:
 * 1. lanes that come together and want the same class have a home (handle.h): one of them claims
 *    there as many slots as they are, blindly, by one atomic, and each takes one by rank;
 * 2. where nobody got one, a slab is opened at home if its units are free, and claimed again;
 * 3. who got none there, and all lanes of a warp that wants different classes, are served by a search
 *    (seek.h), and who wants more than a slab has, by runs of units (spans.h). From 2 on, all is in
 *    one function that is not inlined.
 *
 * To give back: the owner of the unit says the class, arithmetic the slab and the slot. Lanes with
 * slots of one word, in line, give them back by one atomic of one of them; others by one each, all
 * in one round trip. The slot may be taken again at once.
 *
 * Whoever gets an object sees what its last holder wrote before giving it back.
 *
 * What lost, on an H100, a million threads: the word where the warp's place on its SM found room last
 * in place of the home, 2.5 times slower, as that is another warp's home; a hint written by each
 * free, 1.3 times; sizes by arithmetic in place of a table, and the head read where it is needed,
 * 1.6 times; releases without order would be 1.1 times faster, and wrong.
 *
 * Bound: one atomic for a class of a warp where the home has room; MAM_SEEK_LOOKS looks, then the
 * size of the heap in round trips, to find the last slot or none.
 */
#ifndef MAM_HEAP_OBJECTS_H
#define MAM_HEAP_OBJECTS_H

#include "heap/roam.h"

/* Can it get more ground? */
MAM_KFN bool mam_objects_grows(const struct mam_kheap *heap)
{
	struct mam_growth *growth = mam_parts_growth(heap);

	return growth && mam_search_serves(heap) && mam_constant_pointer(&growth->mail);
}

/* NULL, and counted: there is no room, or `bytes` is 0 or more than the heap has. */
MAM_KFN void *mam_objects_alloc(struct mam_kheap *heap, size_t bytes)
{
	uint32_t class_ = mam_class_of(bytes), mask;
	struct mam_kheap head;
	struct mam_kslot mine;
	uint64_t traits, key, one;

	if (!heap)
		return NULL;
	head = mam_head_read(heap);
	/* No branch of its own, so that all of the head is read at once. */
	class_ = mam_search_serves(&head) ? class_ : 0;
	traits = mam_traits_of(class_);
	mine.word = 0;
	mine.slot = class_ ? MAM_NO_SLOT : MAM_SLOT_OUT;
	/* The same in lanes that want the same of one heap: its head is at a line. */
	key = (uint64_t)(uintptr_t)heap | class_;
	mask = mam_warp_active();
	if (!(mask & (mask - 1))) {
		if (class_ && !head.current)
			mine = mam_search_claim_lone(&head, traits);
	} else {
		/* By all lanes, also where some of them see that the heap has grown. */
		one = mam_warp_shuffle64(mask, key, mam_ffs32(mask) - 1);
		if (!mam_warp_ballot(mask, head.current || key != one) && class_)
			mine = mam_search_claim(&head, mask, traits, false);
	}
	if (mam_warp_ballot(mask, mine.slot >= MAM_NO_SLOT)) {
		/* Lanes that name different heaps are groups of their own from here on. */
		mask = mam_warp_match64(mask, (uint64_t)(uintptr_t)heap);
		return mam_objects_grows(heap) ? mam_roam(heap, mask, bytes, mine)
					       : mam_search(heap, mask, bytes, mine);
	}
	mam_warp_sync(mask);
	return mam_traits_at(&head, traits, mine.word, mine.slot);
}

/* Where an address lies. */
struct mam_kplace {
	uint64_t traits; /* of the class of the slab */
	uint32_t owner;  /* of its unit: the class; or else: not in a slab */
	uint32_t unit;
	uint32_t word;
	uint32_t slot; /* or MAM_NO_SLOT: not the first byte of one; MAM_SLOT_OUT: not in the ground */
};

MAM_KFN struct mam_kplace mam_objects_place(const struct mam_kheap *heap, const void *object)
{
	uint64_t offset = (uint64_t)((uintptr_t)object - (uintptr_t)heap->ground);
	struct mam_kplace place;
	uint32_t within, bytes;

	place.traits = 0;
	place.owner = 0;
	place.unit = 0;
	place.word = 0;
	place.slot = MAM_NO_SLOT;
	if (offset >> MAM_BLOCK_SHIFT >= heap->blocks) {
		place.slot = MAM_SLOT_OUT;
		return place;
	}
	place.unit = (uint32_t)(offset >> MAM_UNIT_SHIFT);
	place.owner = mam_owners_load(heap, place.unit);
	if (place.owner > MAM_OWNER_MOVING && place.owner <= MAM_OWNER_MOVING + MAM_CLASSES)
		place.owner -= MAM_OWNER_MOVING;
	if (place.owner - 1 >= MAM_CLASSES)
		return place;
	place.traits = mam_traits_of(place.owner);
	place.word = place.unit >> mam_traits_span_shift(place.traits);
	within = (uint32_t)offset & ((1u << (mam_traits_span_shift(place.traits) + MAM_UNIT_SHIFT)) - 1);
	bytes = mam_traits_bytes(place.traits);
	place.slot = mam_traits_divide(place.traits, within >> MAM_GRAIN_SHIFT);
	if (place.slot * bytes != within || place.slot >= mam_traits_slots(place.traits))
		place.slot = MAM_NO_SLOT;
	return place;
}

/* Something of this class, 0: a run, was given back: where it lies is not dry for that any more. */
MAM_KSLOW void mam_objects_wet(struct mam_kheap *root, const void *object, uint32_t class_)
{
	struct mam_growth *growth = mam_parts_growth(root);

	if (growth)
		mam_parts_unmark(growth, class_, mam_parts_number(growth, object));
}

/*
 * What is not a slot in use: a run of units, a large object, or a mistake, which the root counts.
 * `heap` is the part where it lies, or the root.
 */
MAM_KSLOW bool mam_objects_refuse(struct mam_kheap *root, const struct mam_kheap *heap,
				  const void *object, struct mam_kplace place)
{
	uint64_t offset = (uint64_t)((uintptr_t)object - (uintptr_t)heap->ground);
	enum mam_object_tally kind = MAM_OBJECT_FOREIGN;

	if (!mam_search_serves(root)) {
		mam_search_wrong(root);
		return false;
	}
	if (mam_objects_grows(root) && heap == root &&
	    offset >> MAM_BLOCK_SHIFT >= root->blocks &&
	    mam_large_free(root, object) == MAM_LARGE_GIVEN)
		return true;
	if (place.owner - 1 < MAM_CLASSES)
		kind = place.slot == MAM_NO_SLOT ? MAM_OBJECT_INTERIOR : MAM_OBJECT_TWICE;
	else if (place.owner == MAM_OWNER_INSIDE ||
		 (place.owner && offset & ((1u << MAM_UNIT_SHIFT) - 1)))
		kind = MAM_OBJECT_INTERIOR;
	else if (place.owner && mam_spans_give(heap, place.unit, place.owner)) {
		mam_objects_wet(root, object, 0);
		return true;
	} else if (place.owner)
		kind = MAM_OBJECT_TWICE;
	mam_object_tally_add(root, kind, 1);
	return false;
}

/* Slots of the lanes of `mask`, which are those that are here. False: the caller's was free. */
MAM_KFN bool mam_objects_release(const struct mam_kheap *heap, uint32_t mask, struct mam_kplace place)
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
		/* Not in line: each for itself. */
		given = (uint64_t)1 << place.slot;
		first = place.slot;
		leader = mam_lane();
		rank = 0;
	}
	/* What all of them wrote comes before the leader's release. */
	mam_warp_sync(mask);
	old = 0;
	if (mam_lane() == leader)
		old = (uint32_t)(mam_slots_release(word, 0, given) >> first);
	old = mam_warp_shuffle32(mask, old, leader);
	return !(old >> rank & 1);
}

/*
 * What does not lie in the root's ground, of lanes that give something back together: the same there,
 * in a function of its own, as few programs need it.
 */
MAM_KSLOW bool mam_objects_free_beyond(struct mam_kheap *root, void *object)
{
	struct mam_growth *growth = mam_parts_growth(root);
	uint32_t number = growth ? mam_parts_number(growth, object) : 0;
	struct mam_kheap *at = number ? mam_parts_heap(growth, number) : root, head;
	struct mam_kplace place;

	head = mam_head_read(at);
	place = mam_objects_place(&head, object);
	if (place.slot < MAM_NO_SLOT && mam_objects_release(&head, mam_warp_active(), place)) {
		mam_parts_unmark(growth, place.owner, number);
		return true;
	}
	return mam_objects_refuse(root, at, object, place);
}

/*
 * True: it is given back, or NULL. False, and counted: nobody has it, or it is not the first byte
 * of what somebody has; nothing has changed then.
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
	/* No branch of its own, as above: nothing is in a heap of no blocks. */
	head.blocks = mam_search_serves(&head) ? head.blocks : 0;
	place = mam_objects_place(&head, object);
	if (place.slot < MAM_NO_SLOT && mam_objects_release(&head, mam_warp_active(), place)) {
		if (head.current)
			mam_objects_wet(heap, object, place.owner);
		return true;
	}
	if (place.slot == MAM_SLOT_OUT && mam_objects_grows(heap))
		return mam_objects_free_beyond(heap, object);
	return mam_objects_refuse(heap, heap, object, place);
}

/* The same by a lane that is alone, or may as well be: no collectives, and small where it is called. */
MAM_KSLOW bool mam_objects_free_lone(struct mam_kheap *heap, void *object)
{
	struct mam_kheap *at = heap ? mam_parts_of(heap, object) : NULL;
	struct mam_kplace place;
	uint64_t slot;

	if (!object)
		return true;
	at = at ? at : heap;
	place = mam_objects_place(at, object);
	slot = (uint64_t)1 << place.slot % MAM_NO_SLOT;
	if (place.slot < MAM_NO_SLOT &&
	    !(mam_slots_release(mam_traits_words(at, place.traits), place.word, slot) & slot)) {
		mam_objects_wet(heap, object, place.owner);
		return true;
	}
	return mam_objects_refuse(heap, at, object, place);
}

/* Bytes that may be used at `object`; 0: nobody has it, or it is not the first byte of it. */
MAM_KFN size_t mam_objects_usable(struct mam_kheap *heap, const void *object)
{
	struct mam_kplace place;
	struct mam_kheap *at;
	uint64_t offset;

	if (!object || !heap || !mam_search_serves(heap))
		return 0;
	at = mam_parts_of(heap, object);
	if (!at)
		return mam_objects_grows(heap) ? mam_large_usable(heap, object) : 0;
	heap = at;
	offset = (uint64_t)((uintptr_t)object - (uintptr_t)heap->ground);
	place = mam_objects_place(heap, object);
	if (place.owner - 1 < MAM_CLASSES) {
		if (place.slot == MAM_NO_SLOT ||
		    mam_slots_load(mam_traits_words(heap, place.traits), place.word) >> place.slot & 1)
			return 0;
		return mam_traits_bytes(place.traits);
	}
	if (!place.owner || offset & ((1u << MAM_UNIT_SHIFT) - 1))
		return 0;
	return (size_t)mam_spans_length(heap, place.unit, place.owner) << MAM_UNIT_SHIFT;
}

#endif
