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

#include "heap/spans.h"

#define MAM_SETTLE_TRIES 4

/* Can objects be had of this heap by this code? */
MAM_KFN bool mam_objects_serves(const struct mam_kheap *heap)
{
	return heap->layout == MAM_HEAP_LAYOUT && heap->blocks;
}

/* It is none: counted, if it is at least a heap of pages. */
MAM_KSLOW void mam_objects_wrong(const struct mam_kheap *heap)
{
	if (heap->layout == MAM_HEAP_LAYOUT && heap->pages)
		mam_tally_add((struct mam_pages *)(heap + 1), MAM_TALLY_WRONG, 1);
}

/* Step 1 for a lane that is alone. */
MAM_KFN struct mam_kslot mam_objects_claim_lone(const struct mam_kheap *heap, uint64_t traits)
{
	struct mam_kslot mine = mam_handle_home(heap, traits, mam_handle_warp(), 1);
	uint64_t chosen = (uint64_t)1 << mine.slot;

	if (!(mam_slots_claim(mam_traits_words(heap, traits), mine.word, chosen) & chosen))
		mine.slot = MAM_NO_SLOT;
	return mine;
}

/*
 * Step 1 for lanes of one class. A lane is served by the word of its rank; the first of those that
 * share a word claims for them, or has them already: `had`.
 */
MAM_KFN struct mam_kslot mam_objects_claim(const struct mam_kheap *heap, uint32_t mask,
					   uint64_t traits, bool had)
{
	uint32_t lanes = mam_popc32(mask), rank = mam_popc32(mask & ((1u << mam_lane()) - 1));
	uint32_t leader = mam_ffs32(mask) - 1, round = 1u << mam_traits_round_shift(traits);
	struct mam_kslot mine = mam_handle_home(heap, traits, mam_handle_warp(), lanes);
	uint32_t lost = ~0u;

	if (lanes > round) {
		mine.word += rank / round;
		leader = mam_bits_nth(mask, rank & ~(round - 1));
		lanes -= rank & ~(round - 1);
		lanes = lanes < round ? lanes : round;
		rank &= round - 1;
	}
	if (had)
		lost = 0;
	else if (!rank && mine.word < heap->blocks << mam_traits_words_shift(traits))
		lost = ~(uint32_t)(mam_slots_claim(mam_traits_words(heap, traits), mine.word,
						   mam_bits_span(mine.slot, lanes)) >>
				   mine.slot);
	lost = mam_warp_shuffle32(mask, lost, leader);
	mine.slot = lost >> rank & 1 ? MAM_NO_SLOT : mine.slot + rank;
	return mine;
}

/*
 * Step 2: no lane has a slot, so maybe there is no slab at home yet. Opens it, and claims again. The
 * same for all lanes of `mask`, which want one class.
 */
MAM_KFN struct mam_kslot mam_objects_settle(const struct mam_kheap *heap, uint32_t mask,
					    uint32_t class_)
{
	const struct mam_kheap head = mam_head_read(heap);
	uint32_t lanes = mam_popc32(mask), rank = mam_popc32(mask & ((1u << mam_lane()) - 1)), tries;
	uint64_t traits = mam_traits_of(class_);
	uint32_t round = 1u << mam_traits_round_shift(traits), word, share;
	struct mam_kslot home = mam_handle_home(&head, traits, mam_handle_warp(), lanes), mine;
	enum mam_opening opening;

	word = home.word + rank / round;
	share = lanes - rank < round ? lanes - rank : round;
	MAM_ROLLED
	for (tries = 0; tries < MAM_SETTLE_TRIES; tries++) {
		opening = MAM_OPEN_NOT;
		if (!(rank % round) && word < head.blocks << mam_traits_words_shift(traits) &&
		    !mam_slots_load(mam_traits_words(&head, traits), word))
			opening = mam_slab_open(heap, class_, word,
						mam_bits_span(home.slot, share));
		mine = mam_objects_claim(&head, mask, traits, opening == MAM_OPEN_DONE);
		if (!mam_warp_ballot(mask, opening == MAM_OPEN_LATER) ||
		    mam_warp_ballot(mask, mine.slot != MAM_NO_SLOT))
			break;
	}
	return mine;
}

/* Steps 2 and 3, for the lanes of `mask`, which are those that are here. The caller's slot, if it has one. */
MAM_KSLOW void *mam_objects_search(struct mam_kheap *heap, uint32_t mask, size_t bytes,
				   struct mam_kslot mine)
{
	uint32_t class_ = mam_class_of(bytes), units = 0, large, one;
	void *object = NULL;

	if (!mam_objects_serves(heap)) {
		mam_objects_wrong(heap);
		return NULL;
	}
	if (mam_lane() == mam_ffs32(mask) - 1)
		MAM_STEPS_ADD(heap, searches, 1);
	class_ = class_ ? class_ : 1;
	one = mam_warp_shuffle32(mask, class_, mam_ffs32(mask) - 1);
	if (!mam_warp_ballot(mask, mine.slot != MAM_NO_SLOT || class_ != one))
		mine = mam_objects_settle(heap, mask, class_);
	mine = mam_seek(heap, mask, class_, mine);
	if (mine.slot < MAM_NO_SLOT)
		object = mam_books_at(heap, class_, mine.word, mine.slot);
	if (bytes > MAM_CLASS_BYTES_MAX)
		units = mam_spans_units(heap, bytes);
	large = mam_warp_ballot(mask, units != 0);
	if (units)
		object = mam_spans_take(heap, large, units);
	else if (mine.slot == MAM_SLOT_OUT)
		mam_object_tally_add(heap, bytes ? MAM_OBJECT_TOO_LARGE : MAM_OBJECT_ZERO, 1);
	mam_warp_sync(mask);
	return object;
}

/* NULL, and counted: there is no room, or `bytes` is 0 or more than the heap has. */
MAM_KFN void *mam_objects_alloc(struct mam_kheap *heap, size_t bytes)
{
	uint32_t class_ = mam_class_of(bytes), mask;
	struct mam_kheap head;
	struct mam_kslot mine;
	uint64_t traits;

	if (!heap)
		return NULL;
	head = mam_head_read(heap);
	/* No branch of its own, so that all of the head is read at once. */
	class_ = mam_objects_serves(&head) ? class_ : 0;
	traits = mam_traits_of(class_);
	mine.word = 0;
	mine.slot = class_ ? MAM_NO_SLOT : MAM_SLOT_OUT;
	mask = mam_warp_active();
	if (!(mask & (mask - 1))) {
		if (class_)
			mine = mam_objects_claim_lone(&head, traits);
	} else if (!mam_warp_ballot(mask, class_ != mam_warp_shuffle32(mask, class_,
								       mam_ffs32(mask) - 1))) {
		if (class_)
			mine = mam_objects_claim(&head, mask, traits, false);
	}
	if (mam_warp_ballot(mask, mine.slot >= MAM_NO_SLOT))
		return mam_objects_search(heap, mask, bytes, mine);
	mam_warp_sync(mask);
	return mam_traits_at(&head, traits, mine.word, mine.slot);
}

/* Where an address lies. */
struct mam_kplace {
	uint64_t traits; /* of the class of the slab */
	uint32_t owner;  /* of its unit: the class; or else: not in a slab */
	uint32_t unit;
	uint32_t word;
	uint32_t slot; /* or MAM_NO_SLOT: not the first byte of one */
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
	if (offset >> MAM_BLOCK_SHIFT >= heap->blocks)
		return place;
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

/* What is not a slot in use: a run of units, or a mistake. */
MAM_KSLOW bool mam_objects_refuse(const struct mam_kheap *heap, const void *object,
				  struct mam_kplace place)
{
	uint64_t offset = (uint64_t)((uintptr_t)object - (uintptr_t)heap->ground);
	enum mam_object_tally kind = MAM_OBJECT_FOREIGN;

	if (!mam_objects_serves(heap)) {
		mam_objects_wrong(heap);
		return false;
	}
	if (place.owner - 1 < MAM_CLASSES)
		kind = place.slot == MAM_NO_SLOT ? MAM_OBJECT_INTERIOR : MAM_OBJECT_TWICE;
	else if (place.owner == MAM_OWNER_INSIDE ||
		 (place.owner && offset & ((1u << MAM_UNIT_SHIFT) - 1)))
		kind = MAM_OBJECT_INTERIOR;
	else if (place.owner && mam_spans_give(heap, place.unit, place.owner))
		return true;
	else if (place.owner)
		kind = MAM_OBJECT_TWICE;
	mam_object_tally_add(heap, kind, 1);
	return false;
}

/* Slots of the lanes of `mask`, which are those that are here. False: the caller's was free. */
MAM_KFN bool mam_objects_release(const struct mam_kheap *heap, uint32_t mask, struct mam_kplace place)
{
	uint64_t *word = &mam_traits_words(heap, place.traits)[place.word], given;
	uint32_t key = (uint32_t)((uintptr_t)word >> 3), group = mask, leader, rank, first;

	if (mam_warp_ballot(mask, key != mam_warp_shuffle32(mask, key, mam_ffs32(mask) - 1)))
		group = mam_warp_match32(mask, key);
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
	if (mam_lane() == leader)
		key = (uint32_t)(mam_slots_release(word, 0, given) >> first);
	key = mam_warp_shuffle32(mask, key, leader);
	return !(key >> rank & 1);
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
	head.blocks = mam_objects_serves(&head) ? head.blocks : 0;
	place = mam_objects_place(&head, object);
	if (place.slot < MAM_NO_SLOT && mam_objects_release(&head, mam_warp_active(), place))
		return true;
	return mam_objects_refuse(heap, object, place);
}

/* Bytes that may be used at `object`; 0: nobody has it, or it is not the first byte of it. */
MAM_KFN size_t mam_objects_usable(const struct mam_kheap *heap, const void *object)
{
	struct mam_kplace place;
	uint64_t offset;

	if (!object || !heap || !mam_objects_serves(heap))
		return 0;
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
