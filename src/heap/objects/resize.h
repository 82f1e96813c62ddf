/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resize.h - zeroed objects, and objects that grow or shrink, each by the lane that owns it.
 *
 * 1. Zeroed: allocate, then write zeros over the requested size.
 * 2. Resized: the object stays in place if it is large enough and a new one would be more than half
 *    as large. So a loop that shrinks byte by byte moves an object once per halving, and growth
 *    within a class costs a lookup in the metadata and nothing else.
 * 3. Otherwise allocate, copy what fits into both, free the old one. If there is no room the old
 *    object is unchanged; if it is large enough it is also the result, so shrinking never fails.
 *
 * Bytes are moved sixteen at a time: every object starts at a multiple of 16. Parts of an object
 * may not (collective.h). A lane moves them alone, as other lanes have objects of their own.
 *
 * Must hold: an object is copied before it is freed, and freed once.
 */
#ifndef MAM_HEAP_OBJECTS_RESIZE_H
#define MAM_HEAP_OBJECTS_RESIZE_H

#include "heap/objects/objects.h"

/* The unit of one load and one store, whatever type the program keeps there. */
struct mam_resize_piece {
	uint64_t half[2];
} __attribute__((aligned(16), may_alias));

/* Writes zeros over `bytes`, up to the next multiple of 16. */
MAM_KSLOW void mam_resize_clear(void *object, size_t bytes)
{
	struct mam_resize_piece *piece = (struct mam_resize_piece *)object;
	struct mam_resize_piece zero = { { 0, 0 } };
	size_t i;

	for (i = 0; i < (bytes + 15) / 16; i++)
		piece[i] = zero;
}

/*
 * Copies. If `from` is not aligned to a piece, as for parts of an object (collective.h), each byte
 * is copied by itself; so are the bytes after the last whole piece, which may be followed by
 * another lane's. pre: the two do not overlap.
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

/* The product, or more than any heap has. */
MAM_KFN size_t mam_resize_product(size_t n, size_t bytes)
{
	return n && bytes > SIZE_MAX / n ? SIZE_MAX : n * bytes;
}

/* Returns whether an object of so many usable bytes stays in place for `bytes`. pre: bytes > 0. */
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

	/* This does not free an invalid object either: the call counts the error. */
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
