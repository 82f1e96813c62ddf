/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.h - finds the position of an address in an object heap, and the object that contains it.
 *
 * 1. The owner of the unit gives the class of a slab, and arithmetic the slab and the slot: a free
 *    needs no more.
 * 2. The enclosing object: of a slab, the slot is computed as well. Of a run, owners are read
 *    backward to the one that is not MAM_OWNER_INSIDE, a block's owners at a time: that is its
 *    first unit.
 * 3. An address outside of all parts: among the large objects (large.h).
 *
 * Nothing is read at the address itself.
 *
 * Bound: 1, one load. 2 adds one; for a run, a round trip for each block of 64 KiB before the
 * address. 3 looks at all large objects.
 */
#ifndef MAM_HEAP_OBJECTS_PLACE_H
#define MAM_HEAP_OBJECTS_PLACE_H

#include "heap/growth/large.h"
#include "heap/growth/parts.h"
#include "heap/slab/search.h"

/* The position of an address. */
struct mam_kplace {
	uint64_t traits; /* of the class of the slab */
	uint32_t owner;  /* of its unit: the class; any other value: not in a slab */
	uint32_t unit;
	uint32_t word;
	uint32_t slot; /* or MAM_NO_SLOT: not the first byte of one; MAM_SLOT_OUT: not in the
			 heap's memory */
};

/* The object that contains an address. */
struct mam_karound {
	unsigned char *base;
	uint64_t bytes; /* 0: not in a live object */
};

/* Returns whether the heap can grow. */
MAM_KFN bool mam_place_grows(const struct mam_kheap *heap)
{
	return mam_search_serves(heap) && mam_parts_growing(heap);
}

/* Step 1. */
MAM_KFN struct mam_kplace mam_place_of(const struct mam_kheap *heap, const void *object)
{
	uint64_t offset = (uint64_t)((uintptr_t)object - (uintptr_t)heap->space);
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
	within = (uint32_t)offset &
		 ((1u << (mam_traits_span_shift(place.traits) + MAM_UNIT_SHIFT)) - 1);
	bytes = mam_traits_bytes(place.traits);
	place.slot = mam_traits_divide(place.traits, within >> MAM_GRAIN_SHIFT);
	if (place.slot * bytes != within || place.slot >= mam_traits_slots(place.traits))
		place.slot = MAM_NO_SLOT;
	return place;
}

/*
 * Step 2 of a run: the last unit, this one or one before it, that is not inside; MAM_NO_PAGE: none.
 */
MAM_KFN uint32_t mam_place_first(const struct mam_kheap *heap, uint32_t unit)
{
	uint32_t block = unit / MAM_BLOCK_UNITS + 1, within = unit % MAM_BLOCK_UNITS, i, at;
	uint64_t seen[8];

	MAM_ROLLED
	while (block--) {
		for (i = 0; i < 8; i++)
			seen[i] = mam_global_load64(&heap->owners[block * 8 + i], MAM_RELAXED,
						    MAM_AT_DEVICE);
		at = MAM_NO_PAGE;
		for (i = 0; i < 8; i++) {
			/* Ignore the units after this one. */
			if (within / 8 < i)
				seen[i] = ~(uint64_t)0;
			else if (within / 8 == i && within % 8 < 7)
				seen[i] |= ~(uint64_t)0 << 8 * (within % 8 + 1);
			if (~seen[i])
				at = block * MAM_BLOCK_UNITS + 8 * i +
				     (63 - mam_clz64(~seen[i])) / 8;
		}
		if (at != MAM_NO_PAGE)
			return at;
		within = MAM_BLOCK_UNITS - 1;
	}
	return MAM_NO_PAGE;
}

/* Step 2: `place` is the position of the address in this heap's own memory. */
MAM_KFN struct mam_karound mam_place_around(const struct mam_kheap *heap, struct mam_kplace place,
					    const void *address)
{
	uint64_t offset = (uint64_t)((uintptr_t)address - (uintptr_t)heap->space), span;
	uint32_t slot, unit, owner, length;
	struct mam_karound around;

	around.base = NULL;
	around.bytes = 0;
	if (place.owner - 1 < MAM_CLASSES) {
		span = (uint64_t)1 << (mam_traits_span_shift(place.traits) + MAM_UNIT_SHIFT);
		slot = mam_traits_divide(place.traits,
					 (uint32_t)(offset & (span - 1)) >> MAM_GRAIN_SHIFT);
		if (slot >= mam_traits_slots(place.traits) ||
		    mam_slots_load(mam_traits_words(heap, place.traits), place.word) >> slot & 1)
			return around;
		around.base = mam_traits_at(heap, place.traits, place.word, slot);
		around.bytes = mam_traits_bytes(place.traits);
		return around;
	}
	if (!place.owner)
		return around;
	unit = mam_place_first(heap, place.unit);
	if (unit == MAM_NO_PAGE)
		return around;
	owner = mam_owners_load(heap, unit);
	length = mam_spans_length(heap, unit, owner);
	if (length <= place.unit - unit)
		return around;
	around.base = heap->space + ((uint64_t)unit << MAM_UNIT_SHIFT);
	around.bytes = (uint64_t)length << MAM_UNIT_SHIFT;
	return around;
}

/*
 * The object of a heap, its parts and its large objects that contains an address; of large ones
 * only those that are marked (large.h).
 */
MAM_KFN struct mam_karound mam_place_holder(struct mam_kheap *root, const void *address)
{
	struct mam_kheap *at = mam_parts_of(root, address);
	struct mam_karound around;
	struct mam_klarge large;

	around.base = NULL;
	around.bytes = 0;
	if (at)
		return mam_place_around(at, mam_place_of(at, address), address);
	if (!mam_place_grows(root))
		return around;
	large = mam_large_parts(root, address);
	if (!large.bytes)
		return around;
	around.base = (unsigned char *)(uintptr_t)large.address;
	around.bytes = large.bytes;
	return around;
}

#endif
