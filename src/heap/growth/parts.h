/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parts.h - the parts of a growing heap, as kernels find them in the root's table (growth.h).
 *
 * An entry is two words, 0 until the part is published, and then constant while any kernel that
 * uses the heap runs. So a stale value from an incoherent cache is 0 or right, and everything about
 * a part is computed from it. The part's head is not read, as that memory may have had another use
 * a moment ago, and such a cache may still hold the old content. A thread that reads there acquires
 * the count of parts first. The same holds for tables after the first, whose memory comes from the
 * pool.
 *
 * A part in which a search for a class failed is dry for that class, and is skipped for MAM_DRY_NS,
 * or until an object of that class is freed there. So lanes that find no room where they start do
 * not all search everywhere before the heap grows, and yet it does not grow while other parts have
 * room.
 *
 * Bound: one look at each entry for an address outside the heap. Grants get larger as the heap grows
 * (post_box.h), so there are few, except in a pool whose free memory is in small pieces.
 */
#ifndef MAM_HEAP_GROWTH_PARTS_H
#define MAM_HEAP_GROWTH_PARTS_H

#include "heap/growth/growth.h"
#include "heap/slab/slots.h"

#ifndef MAM_DRY_NS
#define MAM_DRY_NS 1000000u
#endif
#define MAM_NO_PART 0xffffffffu

/* An entry of the table. */
struct mam_kpart {
	uint64_t space; /* address; 0: none */
	uint64_t shape; /* blocks, and columns << 32 */
};

/* The table after the first that has entry `*index`, which becomes its place in that table. */
MAM_KFN struct mam_parts_table mam_parts_find_table(struct mam_growth *growth, uint32_t *index)
{
	struct mam_parts_table table;
	uint64_t *where = growth->part_table;

	*index -= MAM_PARTS_FIRST;
	MAM_ROLLED
	for (table.size = mam_parts_size(1); *index >= table.size; table.size *= 2, where++)
		*index -= table.size;
	table.at = mam_atomic_load64(where, MAM_RELAXED, MAM_AT_DEVICE);
	return table;
}

/* The address of the two words of an entry. */
MAM_KFN uint64_t *mam_parts_words(struct mam_growth *growth, uint32_t index)
{
	struct mam_parts_table table;

	if (index < MAM_PARTS_FIRST)
		return (uint64_t *)&growth->part[index];
	table = mam_parts_find_table(growth, &index);
	return (uint64_t *)&mam_parts_grants(table)[index];
}

/*
 * The entry, maybe stale, if it is in the first table. Number 0 is the root, which has no entry; the
 * first part is number 1.
 */
MAM_KFN struct mam_kpart mam_parts_hint(struct mam_growth *growth, uint32_t number)
{
	struct mam_kpart part;

	part.space = 0;
	part.shape = 0;
	if (number - 1 < MAM_PARTS_FIRST) {
		part.space = mam_stale64(&mam_parts_words(growth, number - 1)[0]);
		part.shape = mam_stale64(&mam_parts_words(growth, number - 1)[1]);
	}
	if (!part.shape)
		part.space = 0;
	return part;
}

/* The current entry. pre: the count of parts was acquired and is at least `number`. */
MAM_KFN struct mam_kpart mam_parts_get(struct mam_growth *growth, uint32_t number)
{
	uint64_t *words = mam_parts_words(growth, number - 1);
	struct mam_kpart part;

	part.space = mam_atomic_load64(&words[0], MAM_RELAXED, MAM_AT_DEVICE);
	part.shape = mam_atomic_load64(&words[1], MAM_RELAXED, MAM_AT_DEVICE);
	return part;
}

MAM_KFN struct mam_kheap *mam_parts_at(struct mam_kpart part)
{
	return (struct mam_kheap *)(uintptr_t)(part.space +
					       ((uint64_t)(uint32_t)part.shape << MAM_BLOCK_SHIFT));
}

MAM_KFN bool mam_parts_has(struct mam_kpart part, const void *object)
{
	return part.space &&
	       ((uint64_t)(uintptr_t)object - part.space) >> MAM_BLOCK_SHIFT < (uint32_t)part.shape;
}

/* The part that contains an address, and its number; a `ground` of 0: none does. */
MAM_KFN struct mam_kpart mam_parts_find(struct mam_growth *growth, const void *object,
					uint32_t *which)
{
	uint32_t number, count;
	struct mam_kpart part;

	MAM_ROLLED
	for (number = 1;; number++) {
		part = mam_parts_hint(growth, number);
		if (!part.space)
			break;
		if (mam_parts_has(part, object)) {
			*which = number;
			return part;
		}
	}
	count = (uint32_t)mam_atomic_load64(&growth->parts.value, MAM_ACQUIRE, MAM_AT_DEVICE);
	MAM_ROLLED
	for (; number <= count; number++) {
		part = mam_parts_get(growth, number);
		if (mam_parts_has(part, object)) {
			*which = number;
			return part;
		}
	}
	part.space = 0;
	return part;
}

/* Number of the part that contains an address; 0: none does. */
MAM_KSLOW uint32_t mam_parts_number(struct mam_growth *growth, const void *object)
{
	uint32_t number = 0;

	return mam_parts_find(growth, object, &number).space ? number : 0;
}

/* The head of a part. pre: the caller has seen its entry or the count of parts. */
MAM_KFN struct mam_kheap *mam_parts_heap(struct mam_growth *growth, uint32_t number)
{
	struct mam_parts_table table;
	uint32_t index = number - 1;

	if (index < MAM_PARTS_FIRST)
		return &growth->head[index];
	table = mam_parts_find_table(growth, &index);
	return &mam_parts_heads(table)[index];
}

/* When a search for a class failed there; number 0 is the root. pre: as mam_parts_heap(). */
MAM_KFN uint64_t *mam_parts_dry_of(struct mam_growth *growth, uint32_t class_, uint32_t number)
{
	struct mam_parts_table table;
	uint32_t index = number - 1;

	if (number <= MAM_PARTS_FIRST)
		return &growth->dry[class_][number];
	table = mam_parts_find_table(growth, &index);
	return &mam_parts_dry(table)[(uint64_t)index * (MAM_CLASSES + 1) + class_];
}

/* The growth of a heap, or NULL. */
MAM_KFN struct mam_growth *mam_parts_growth(const struct mam_kheap *heap)
{
	return (struct mam_growth *)mam_constant_pointer(&heap->growth);
}

/* The growth of a heap that grows, or NULL. pre: an object heap. */
MAM_KFN struct mam_growth *mam_parts_growing(const struct mam_kheap *heap)
{
	struct mam_growth *growth = mam_parts_growth(heap);

	return growth && mam_constant_pointer(&growth->mail) ? growth : NULL;
}

/* The head of the heap or of the part that contains an address, or NULL. */
MAM_KSLOW struct mam_kheap *mam_parts_of(struct mam_kheap *heap, const void *object)
{
	struct mam_growth *growth = mam_parts_growth(heap);
	uint32_t number;

	if ((uint64_t)((uintptr_t)object - (uintptr_t)heap->space) >> MAM_BLOCK_SHIFT <
	    heap->blocks)
		return heap;
	number = growth ? mam_parts_number(growth, object) : 0;
	return number ? mam_parts_heap(growth, number) : NULL;
}

/* Records that no room for this class (0: for runs) was found in that part. */
MAM_KFN void mam_parts_mark(struct mam_growth *growth, uint32_t class_, uint32_t number)
{
	mam_atomic_store64(mam_parts_dry_of(growth, class_, number), mam_timer() | 1, MAM_RELAXED,
			   MAM_AT_DEVICE);
}

/* Clears that record after an object of the class was freed there. */
MAM_KSLOW void mam_parts_unmark(struct mam_growth *growth, uint32_t class_, uint32_t number)
{
	uint64_t *dry = mam_parts_dry_of(growth, class_, number);

	if (mam_atomic_load64(dry, MAM_RELAXED, MAM_AT_DEVICE))
		mam_atomic_store64(dry, 0, MAM_RELAXED, MAM_AT_DEVICE);
}

/*
 * Returns the next of the root and `parts` parts after `number` that is not dry, or MAM_NO_PART;
 * the same in all lanes of `mask`, which search together.
 */
MAM_KFN uint32_t mam_parts_next(struct mam_growth *growth, uint32_t mask, uint32_t class_,
				uint32_t number, uint32_t parts)
{
	uint32_t rank = mam_popc32(mask & ((1u << mam_lane()) - 1)), first, at, hits;
	uint64_t stamp;

	MAM_ROLLED
	for (first = 1; first <= parts; first += mam_popc32(mask)) {
		at = (number + first + rank) % (parts + 1);
		stamp = 1;
		if (first + rank <= parts)
			stamp = mam_atomic_load64(mam_parts_dry_of(growth, class_, at), MAM_RELAXED,
						  MAM_AT_DEVICE);
		if (first + rank <= parts && stamp && mam_timer() - stamp > MAM_DRY_NS)
			stamp = 0;
		mam_warp_sync(mask);
		hits = mam_warp_ballot(mask, !stamp);
		if (hits)
			return mam_warp_shuffle32(mask, at, mam_ffs32(hits) - 1);
	}
	return MAM_NO_PART;
}

#endif
