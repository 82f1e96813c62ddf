/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resize.h - objects cleared, and objects that grow or shrink, each by the lane that has it.
 *
 * 1. Cleared: allocate, then write zeros over what was asked for.
 * 2. Another size: the object stays where it is if it is large enough and a fresh one would be
 *    more than half as large. So a loop that shrinks byte by byte moves an object once for each
 *    half, and growing inside of a class costs a look at the books and nothing else.
 * 3. Else allocate, copy what both have room for, give the old one back. If there is no room the
 *    old one is left as it was; where it is large enough that is the answer, so what shrinks never
 *    fails.
 *
 * Bytes are moved sixteen at a time: every object begins at a multiple of 16. Parts of one need not
 * (collective.h). A lane moves them alone, as others have objects of their own.
 *
 * Must hold: an object is copied before it is given back, and given back once.
 */
#ifndef MAM_HEAP_RESIZE_H
#define MAM_HEAP_RESIZE_H

#include "heap/objects.h"

/* What one load and one store move, whatever the program keeps there. */
struct mam_resize_piece {
	uint64_t half[2];
} __attribute__((aligned(16), may_alias));

/* Zeros over `bytes`, and up to the next multiple of 16. */
MAM_KSLOW void mam_resize_clear(void *object, size_t bytes)
{
	struct mam_resize_piece *piece = (struct mam_resize_piece *)object;
	struct mam_resize_piece zero = { { 0, 0 } };
	size_t i;

	for (i = 0; i < (bytes + 15) / 16; i++)
		piece[i] = zero;
}

/*
 * A copy. Of what begins inside of a piece each byte for itself, as parts of an object may
 * (collective.h); so is what lies behind the last whole piece, where others may have theirs. pre: the
 * two do not overlap.
 */
MAM_KSLOW void mam_resize_copy(void *to, const void *from, size_t bytes)
{
	struct mam_resize_piece *target = (struct mam_resize_piece *)to;
	const struct mam_resize_piece *source = (const struct mam_resize_piece *)from;
	size_t i, whole = (uintptr_t)from % sizeof(*source) ? 0 : bytes / sizeof(*source);

	for (i = 0; i < whole; i++)
		target[i] = source[i];
	for (i = whole * sizeof(*source); i < bytes; i++)
		((unsigned char *)to)[i] = ((const unsigned char *)from)[i];
}

/* The product, or what no heap has. */
MAM_KFN size_t mam_resize_product(size_t n, size_t bytes)
{
	return n && bytes > SIZE_MAX / n ? SIZE_MAX : n * bytes;
}

/* Does an object of so many usable bytes stay as it is for `bytes`? pre: bytes > 0. */
MAM_KFN bool mam_resize_stays(size_t usable, size_t bytes)
{
	uint32_t class_ = mam_class_of(bytes);
	size_t fresh;

	if (bytes > usable)
		return false;
	fresh = class_ ? mam_class_bytes(class_)
		       : (((bytes - 1) >> MAM_UNIT_SHIFT) + 1) << MAM_UNIT_SHIFT;
	return fresh > usable / 2;
}

MAM_KFN void *mam_objects_calloc(struct mam_kheap *heap, size_t n, size_t bytes)
{
	void *object;

	bytes = mam_resize_product(n, bytes);
	object = mam_objects_alloc(heap, bytes);
	if (object)
		mam_resize_clear(object, bytes);
	return object;
}

MAM_KFN void *mam_objects_realloc(struct mam_kheap *heap, void *object, size_t bytes)
{
	size_t usable = heap && object ? mam_objects_usable(heap, object) : 0;
	void *fresh;

	/* What nobody has is not given back by this either: it is counted as such there. */
	if (object && (!usable || !bytes)) {
		(void)mam_objects_free(heap, object);
		return NULL;
	}
	if (object && mam_resize_stays(usable, bytes))
		return object;
	fresh = mam_objects_alloc(heap, bytes);
	if (!object)
		return fresh;
	if (!fresh)
		return bytes <= usable ? object : NULL;
	mam_resize_copy(fresh, object, bytes < usable ? bytes : usable);
	(void)mam_objects_free(heap, object);
	return fresh;
}

#endif
