/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kfind.h - finds the object of a debugged heap that contains an address.
 *
 * The metadata shows it, whatever was overwritten in the heap: for slabs the owner of the unit and
 * arithmetic; for a run its first unit, to which the owners of the others lead, one step each. A
 * large object is found by its first byte only. Nothing is read at the address.
 */
#ifndef MAM_HEAP_DEBUG_KFIND_H
#define MAM_HEAP_DEBUG_KFIND_H

#include "heap/debug/kzone.h"

#define MAM_KDEBUG_NOWHERE 0u /* not in the heap, or not in an object */
#define MAM_KDEBUG_FREE 1u    /* in a slot that is free */
#define MAM_KDEBUG_TAKEN 2u
#define MAM_KDEBUG_LARGE 3u /* in a large object */

struct mam_kfound_object {
	unsigned char *base; /* of the enclosing object, if there is one */
	uint64_t gross;      /* its size */
	uint32_t what;
	struct mam_ksalt salt;  /* of its guard */
	struct mam_kheap *part; /* the part that contains the address; NULL: none */
};

/* The object in `part`, a part of the heap that contains the address. */
MAM_KFN struct mam_kfound_object mam_kdebug_find_in(struct mam_kheap *heap, struct mam_kheap *part,
						    const void *address)
{
	uint64_t offset = (uint64_t)((uintptr_t)address - (uintptr_t)part->space);
	struct mam_kplace place = mam_place_of(part, address);
	struct mam_kfound_object found;
	uint32_t within, slot, unit, bytes;
	uint64_t word;

	found.base = NULL;
	found.gross = 0;
	found.what = MAM_KDEBUG_NOWHERE;
	found.salt = mam_kdebug_salts(heap, part);
	found.part = part;
	if (place.owner - 1 < MAM_CLASSES) {
		within = (uint32_t)offset &
			 ((1u << (mam_traits_span_shift(place.traits) + MAM_UNIT_SHIFT)) - 1);
		slot = mam_traits_divide(place.traits, within >> MAM_GRAIN_SHIFT);
		bytes = mam_traits_bytes(place.traits);
		if (slot >= mam_traits_slots(place.traits))
			return found;
		found.base = part->space + (offset - within) + slot * bytes;
		found.gross = bytes;
		word = mam_slots_load(mam_traits_words(part, place.traits), place.word);
		found.what = word >> slot & 1 ? MAM_KDEBUG_FREE : MAM_KDEBUG_TAKEN;
		return found;
	}
	for (unit = place.unit; unit && place.owner == MAM_OWNER_INSIDE; unit--)
		place.owner = mam_owners_load(part, unit - 1);
	if (mam_spans_length(part, unit, place.owner) <= place.unit - unit)
		return found;
	found.base = part->space + ((uint64_t)unit << MAM_UNIT_SHIFT);
	found.gross = (uint64_t)mam_spans_length(part, unit, place.owner) << MAM_UNIT_SHIFT;
	found.what = MAM_KDEBUG_TAKEN;
	return found;
}

/* `front`: bytes in front of the address in a large object, if it belongs to one. */
MAM_KFN struct mam_kfound_object mam_kdebug_find(struct mam_kheap *heap, const void *address,
						 uint32_t front)
{
	struct mam_kheap *part = mam_parts_of(heap, address);
	struct mam_kfound_object found;

	if (part)
		return mam_kdebug_find_in(heap, part, address);
	found.base = (unsigned char *)((uintptr_t)address - front);
	found.gross = 0;
	if (heap->growth && heap->growth->mail)
		found.gross = mam_large_usable(heap, found.base);
	found.what = found.gross ? MAM_KDEBUG_LARGE : MAM_KDEBUG_NOWHERE;
	found.salt = mam_kdebug_salts(heap, NULL);
	found.part = NULL;
	return found;
}

#endif
