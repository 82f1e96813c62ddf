/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects.h - objects of any size for kernels: allocate, give back, ask how large. This is the file
 * to include.
 *
 * To allocate:
 * 1. lanes that come together are grouped by class; each group has a leader;
 * 2. the leader claims as many slots as its group has lanes, blindly, in the word that its handle
 *    says: one atomic for each group, all of them in one round trip. Each lane takes one by rank;
 * 3. who got none is served by a search (seek.h), and who wants more than a slab has, by runs of
 *    units (spans.h): both in one function that is not inlined.
 *
 * To give back: the owner of the unit says the class, arithmetic the slab and the slot. Lanes with
 * slots of one word, in line, give them back by one atomic of one of them; others by one each, all
 * in one round trip. The slot may be taken again at once.
 *
 * Whoever gets an object sees what its last holder wrote before giving it back.
 *
 * Bound: one atomic for a class of a warp where the handle has room; MAM_SEEK_LOOKS looks, then the
 * size of the heap in round trips, to find the last slot or none.
 */
#ifndef MAM_HEAP_OBJECTS_H
#define MAM_HEAP_OBJECTS_H

#include "heap/spans.h"

/* Not one that asks for a slot. */
#define MAM_SLOT_OUT 65u

/* Can objects be had of this heap by this code? */
MAM_KFN bool mam_objects_serves(const struct mam_kheap *heap)
{
	return heap && heap->layout == MAM_HEAP_LAYOUT && heap->blocks;
}

/* Step 3. The caller's group, what its class is, where to begin, and the slot that it has. */
MAM_KSLOW void *mam_objects_search(struct mam_kheap *heap, uint32_t mask, size_t bytes,
				   uint32_t handle, struct mam_kslot mine)
{
	uint32_t class_ = mam_class_of(bytes), group, units = 0, large;
	void *object = NULL;

	class_ = class_ ? class_ : 1;
	group = mam_warp_match32(mask, class_);
	mine = mam_seek(heap, mask, group, class_,
			handle ? mam_handle_word(handle) : mam_seek_home(heap, class_), mine);
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
	uint32_t class_ = mam_class_of(bytes), mask, group, leader, rank, handle = 0, next;
	uint64_t won = 0, seen, chosen;
	struct mam_kslot mine;
	uint32_t *where;

	if (!mam_objects_serves(heap))
		return NULL;
	mask = mam_warp_active();
	group = mask;
	leader = mam_ffs32(mask) - 1;
	if (mam_warp_ballot(mask, class_ != mam_warp_shuffle32(mask, class_, leader))) {
		group = mam_warp_match32(mask, class_);
		leader = mam_ffs32(group) - 1;
	}
	rank = mam_popc32(group & ((1u << mam_lane()) - 1));
	if (!rank && class_) {
		where = mam_handle_of(heap, class_);
		handle = mam_atomic_load32(where, MAM_RELAXED, MAM_AT_DEVICE);
		if (handle && handle < MAM_HANDLE_FULL) {
			chosen = mam_bits_rotate_left(mam_bits_span(0, mam_popc32(group)),
						      mam_handle_from(handle));
			seen = mam_slots_claim(mam_books_words(heap, class_),
					       mam_handle_word(handle), chosen);
			won = seen & chosen;
			next = mam_handle_make(mam_handle_word(handle), seen & ~chosen);
			if (next != handle)
				mam_handle_set(where, next);
		}
	}
	handle = mam_warp_shuffle32(mask, handle, leader);
	won = mam_warp_shuffle64(mask, won, leader);
	mine.word = mam_handle_word(handle);
	mine.slot = (mam_handle_from(handle) + rank) & 63;
	if (!(won >> mine.slot & 1))
		mine.slot = class_ ? MAM_NO_SLOT : MAM_SLOT_OUT;
	if (mam_warp_ballot(mask, mine.slot >= MAM_NO_SLOT))
		return mam_objects_search(heap, mask, bytes, handle, mine);
	mam_warp_sync(mask);
	return mam_books_at(heap, class_, mine.word, mine.slot);
}

/* A slab's slot of a class: where an address lies. */
struct mam_kplace {
	uint32_t class_; /* 0: not in a slab */
	uint32_t owner;  /* of its unit, as it is */
	uint32_t unit;
	uint32_t word;
	uint32_t slot; /* or MAM_NO_SLOT: not the first byte of one */
};

MAM_KFN struct mam_kplace mam_objects_place(const struct mam_kheap *heap, const void *object)
{
	uint64_t offset = (uint64_t)((uintptr_t)object - (uintptr_t)heap->ground);
	struct mam_kplace place;
	uint32_t within, bytes;

	place.class_ = 0;
	place.owner = 0;
	place.unit = 0;
	place.word = 0;
	place.slot = MAM_NO_SLOT;
	if (offset >> MAM_BLOCK_SHIFT >= heap->blocks)
		return place;
	place.unit = (uint32_t)(offset >> MAM_UNIT_SHIFT);
	place.owner = mam_owners_load(heap, place.unit);
	place.class_ = place.owner & 127;
	if (place.class_ > MAM_CLASSES || !place.class_) {
		place.class_ = 0;
		return place;
	}
	place.word = place.unit >> mam_class_span_shift(place.class_);
	within = (uint32_t)(offset - ((uint64_t)mam_books_unit(place.class_, place.word)
				      << MAM_UNIT_SHIFT));
	bytes = mam_class_bytes(place.class_);
	place.slot = within / bytes;
	if (place.slot * bytes != within || place.slot >= mam_class_slots(place.class_))
		place.slot = MAM_NO_SLOT;
	return place;
}

/* What is not a slot in use: a run of units, or a mistake. */
MAM_KSLOW bool mam_objects_refuse(const struct mam_kheap *heap, const void *object,
				  struct mam_kplace place)
{
	uint64_t offset = (uint64_t)((uintptr_t)object - (uintptr_t)heap->ground);
	enum mam_object_tally kind = MAM_OBJECT_FOREIGN;

	if (place.class_)
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
	uint32_t key = mam_class_words_before(place.class_) * heap->blocks + place.word, group = mask;
	uint32_t leader = mam_ffs32(mask) - 1, rank, first;
	uint64_t given = (uint64_t)1 << place.slot, seen = 0, left;

	if (mam_warp_ballot(mask, key != mam_warp_shuffle32(mask, key, leader))) {
		group = mam_warp_match32(mask, key);
		leader = mam_ffs32(group) - 1;
	}
	rank = mam_popc32(group & ((1u << mam_lane()) - 1));
	first = mam_warp_shuffle32(mask, place.slot, leader);
	/* Not in line: each for itself. */
	if (mam_warp_ballot(mask, place.slot != first + rank) & group)
		leader = mam_lane();
	else
		given = mam_bits_span(first, mam_popc32(group));
	/* What all of them wrote comes before the leader's release. */
	mam_warp_sync(mask);
	if (mam_lane() == leader) {
		seen = mam_slots_release(mam_books_words(heap, place.class_), place.word, given);
		left = seen | given;
		if (mam_popc64(left) >= 32 || left == mam_slots_all(place.class_))
			mam_handle_set(mam_handle_of(heap, place.class_),
				       mam_handle_make(place.word, left));
	}
	seen = mam_warp_shuffle64(mask, seen, leader);
	return !(seen >> place.slot & 1);
}

/*
 * True: it is given back, or NULL. False, and counted: nobody has it, or it is not the first byte
 * of what somebody has; nothing has changed then.
 */
MAM_KFN bool mam_objects_free(struct mam_kheap *heap, void *object)
{
	struct mam_kplace place;

	if (!object)
		return true;
	if (!mam_objects_serves(heap))
		return false;
	place = mam_objects_place(heap, object);
	if (place.slot < MAM_NO_SLOT && mam_objects_release(heap, mam_warp_active(), place))
		return true;
	return mam_objects_refuse(heap, object, place);
}

/* Bytes that may be used at `object`; 0: nobody has it, or it is not the first byte of it. */
MAM_KFN size_t mam_objects_usable(const struct mam_kheap *heap, const void *object)
{
	uint64_t offset = (uint64_t)((uintptr_t)object - (uintptr_t)heap->ground);
	struct mam_kplace place;

	if (!object || !mam_objects_serves(heap))
		return 0;
	place = mam_objects_place(heap, object);
	if (place.class_)
		return place.slot < MAM_NO_SLOT &&
				       !(mam_slots_load(mam_books_words(heap, place.class_),
							place.word) >>
						 place.slot &
					 1)
			       ? mam_class_bytes(place.class_)
			       : 0;
	if (!place.owner || offset & ((1u << MAM_UNIT_SHIFT) - 1))
		return 0;
	return (size_t)mam_spans_length(heap, place.unit, place.owner) << MAM_UNIT_SHIFT;
}

#endif
