/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kdebug.h - the calls for objects in kernels compiled with -DMAM_KDEBUG, on debugged heaps: errors
 * are detected, reported (reports.h), and survived.
 *
 * To allocate:
 * 1. Allocate more from the heap: space for a guard and two red zones (guard.h), and enough to
 *    align the program's memory as heap.cuh promises.
 * 2. Check it. After the guard of a freed object, up to the next guard, all must be poison;
 *    otherwise there was a write after free. Guards are recognized by their state, so memory that
 *    was never used, or that another heap used, proves nothing.
 * 3. Write both zones, fill the memory between them, and write the guard. That destroys all guards
 *    in that range. So no guard describes memory that had another use meanwhile, except where
 *    another guard follows.
 *
 * To free:
 * 1. Find the object whose units contain the address. The metadata shows where an object starts,
 *    whatever was overwritten (kfind.h). Nothing is read at an address outside of the heap.
 * 2. Check that it is the program's address of a live object. Only the lane that changes the
 *    guard's state by compare-and-swap frees it.
 * 3. Check both zones, poison all except the guard, and free it to the heap.
 *
 * The effect of an error: it is counted as in a heap that is not debugged, and reported. An
 * overwritten object with an intact guard is freed. If the guard was overwritten, too, the object's
 * extent is unknown, and the object is leaked.
 *
 * Not detected: reads; a write that leaves the byte unchanged; a write beyond the zones; a write
 * into memory that was reallocated, and a free of that; anything in a freed large object, as its
 * memory belongs to the host.
 *
 * Bound: as the heap, and one lane's writes over the whole object, twice.
 */
#ifndef MAM_HEAP_DEBUG_KDEBUG_H
#define MAM_HEAP_DEBUG_KDEBUG_H

#include "heap/debug/kfind.h"

/* The alignment of a run's first byte, and so of the program's memory in it. */
#define MAM_KDEBUG_RUN (1u << MAM_UNIT_SHIFT)
#define MAM_KDEBUG_MAX ((uint64_t)1 << 47)

/* The alignment of the address of an object of `bytes`; a power of two. */
MAM_KFN uint32_t mam_kdebug_alignment(size_t bytes)
{
	uint32_t class_ = mam_class_of(bytes), whole = class_ ? mam_class_bytes(class_) : 0;

	if (!class_)
		return MAM_KDEBUG_RUN;
	return whole & (whole - 1) ? 1u << MAM_GRAIN_SHIFT : whole;
}

/* Bytes to allocate from the heap. */
MAM_KFN size_t mam_kdebug_gross(size_t bytes)
{
	if (!bytes || bytes > MAM_KDEBUG_MAX)
		return bytes;
	if (bytes > MAM_CLASS_BYTES_MAX)
		return bytes + MAM_KDEBUG_RUN + MAM_GUARD_REAR;
	return bytes + MAM_GUARD_FRONT + MAM_GUARD_REAR + mam_kdebug_alignment(bytes) -
	       (1u << MAM_GRAIN_SHIFT);
}

/* The offset of the program's memory. */
MAM_KFN uint64_t mam_kdebug_front(const unsigned char *base, size_t bytes)
{
	uint64_t alignment = mam_kdebug_alignment(bytes), min;

	if (bytes > MAM_CLASS_BYTES_MAX)
		return MAM_KDEBUG_RUN;
	min = (uint64_t)(uintptr_t)base + MAM_GUARD_FRONT;
	return (min + alignment - 1) / alignment * alignment - (uint64_t)(uintptr_t)base;
}

/*
 * Writes zones and guard of `object`, which the heap allocated for `bytes`, and fills the memory
 * with `byte`. Returns the program's address.
 */
MAM_KSLOW void *mam_kdebug_dress(struct mam_kheap *heap, void *object, size_t bytes, uint32_t byte)
{
	struct mam_kfound_object found = mam_kdebug_find(heap, object, 0);
	unsigned char *base = (unsigned char *)object;
	uint64_t front = mam_kdebug_front(base, bytes), filled = bytes;
	struct mam_guard guard;

	if (found.what != MAM_KDEBUG_LARGE)
		mam_kdebug_look(heap, found.salt, base, mam_kdebug_min(found.gross));
	else if (byte)
		filled = mam_kdebug_min(bytes);
	mam_kdebug_fill(base, MAM_GUARD_BYTES, front, MAM_GUARD_ZONE_FRONT);
	mam_kdebug_fill(base, front, front + filled, byte);
	mam_kdebug_fill(base, front + bytes, mam_guard_end(found.gross, front, bytes),
			MAM_GUARD_ZONE_REAR);
	guard.bytes = bytes;
	guard.shape = found.gross | front << 48;
	guard.holder = mam_kdebug_me();
	guard.giver.word[0] = 0;
	guard.giver.word[1] = 0;
	mam_kdebug_put(found.salt, base, guard, MAM_GUARD_LIVE);
	return base + front;
}

/* Counts and reports an invalid free. */
MAM_KFN void *mam_kdebug_refuse(const struct mam_kheap *heap, uint32_t kind, const void *address,
				int64_t offset, const struct mam_guard *guard)
{
	mam_object_tally_add(heap,
			     kind == MAM_HEAP_DOUBLE_FREE     ? MAM_OBJECT_TWICE
			     : kind == MAM_HEAP_INTERIOR_FREE ? MAM_OBJECT_INTERIOR
							      : MAM_OBJECT_FOREIGN,
			     1);
	mam_kdebug_report(heap, kind, address, offset, guard);
	return NULL;
}

/* An address that is not allocated: reports a double free or an invalid free. */
MAM_KFN void *mam_kdebug_stray(struct mam_kheap *heap, const unsigned char *object,
			       struct mam_kfound_object found)
{
	uint64_t max = MAM_CLASS_BYTES_MAX + MAM_GUARD_FRONT;
	struct mam_guard guard;

	if (!found.part)
		return mam_kdebug_refuse(heap, MAM_HEAP_FOREIGN_FREE, object, 0, NULL);
	if ((uint64_t)(object - found.part->space) < max)
		max = (uint64_t)(object - found.part->space);
	if (!mam_kdebug_gone(found.salt, object, found.base, max, &guard))
		return mam_kdebug_refuse(heap, MAM_HEAP_FOREIGN_FREE, object, 0, NULL);
	return mam_kdebug_refuse(heap, MAM_HEAP_DOUBLE_FREE, object, 0, &guard);
}

/*
 * Checks a free by the caller and returns the address to free to the heap; NULL: an error,
 * reported.
 */
MAM_KSLOW void *mam_kdebug_back(struct mam_kheap *heap, void *object)
{
	unsigned char *user = (unsigned char *)object;
	struct mam_kfound_object found;
	struct mam_guard guard;
	uint64_t state;

	if (!mam_search_serves(heap)) {
		mam_search_wrong(heap);
		return NULL;
	}
	found = mam_kdebug_find(heap, object, MAM_KDEBUG_RUN);
	if (found.what < MAM_KDEBUG_TAKEN || found.gross <= MAM_GUARD_FRONT)
		return mam_kdebug_stray(heap, user, found);
	if (mam_kdebug_read(found.salt, found.base, MAM_GUARD_LIVE, &guard)) {
		if (found.base + mam_guard_front(&guard) != user)
			return mam_kdebug_refuse(
				heap, MAM_HEAP_INTERIOR_FREE, object,
				user - found.base - (int64_t)mam_guard_front(&guard), &guard);
		if (!mam_kdebug_change(found.salt, found.base, MAM_GUARD_LIVE, MAM_GUARD_BUSY))
			return mam_kdebug_refuse(heap, MAM_HEAP_DOUBLE_FREE, object, 0, &guard);
		mam_kdebug_zones(heap, found.base, &guard);
		if (found.what != MAM_KDEBUG_LARGE)
			mam_kdebug_fill(found.base, MAM_GUARD_BYTES, mam_kdebug_min(found.gross),
					MAM_GUARD_POISON);
		guard.giver = mam_kdebug_me();
		mam_kdebug_put(found.salt, found.base, guard, MAM_GUARD_GONE);
		return found.base;
	}
	if (mam_kdebug_gone(found.salt, user, found.base, 0, &guard))
		return mam_kdebug_refuse(heap, MAM_HEAP_DOUBLE_FREE, object, 0, &guard);
	/* Other lanes are freeing it now, or have freed it and it was reallocated. */
	state = mam_kdebug_load(found.base, 0);
	if (state == mam_kdebug_state(found.salt, MAM_GUARD_BUSY, found.base) ||
	    state == mam_kdebug_state(found.salt, MAM_GUARD_GONE, found.base))
		return mam_kdebug_refuse(heap, MAM_HEAP_DOUBLE_FREE, object, 0, NULL);
	return mam_kdebug_refuse(heap, MAM_HEAP_UNDERRUN, object, found.base - user, NULL);
}

MAM_KFN void *mam_kdebug_get(struct mam_kheap *heap, size_t bytes, uint32_t byte)
{
	void *object = mam_objects_alloc(heap, mam_kdebug_gross(bytes));

	return object ? mam_kdebug_dress(heap, object, bytes, byte) : NULL;
}

MAM_KFN void *mam_kdebug_alloc(struct mam_kheap *heap, size_t bytes)
{
	return mam_kdebug_get(heap, bytes, MAM_GUARD_FRESH);
}

MAM_KFN void *mam_kdebug_calloc(struct mam_kheap *heap, size_t n, size_t bytes)
{
	return mam_kdebug_get(heap, mam_resize_product(n, bytes), 0);
}

/*
 * The part that starts at an address, within the program's memory as the guard describes it.
 * `whole` of NULL: not a part.
 */
MAM_KSLOW struct mam_kpiece mam_kdebug_piece(struct mam_kheap *heap, const void *address)
{
	struct mam_kfound_object found = mam_kdebug_find(heap, address, MAM_KDEBUG_RUN);
	struct mam_karound around;
	struct mam_kpiece piece;
	struct mam_guard guard;

	if (!found.part && found.what != MAM_KDEBUG_LARGE) {
		around = mam_place_holder(heap, address);
		found.base = around.base;
		found.gross = around.bytes;
		found.what = around.bytes ? MAM_KDEBUG_LARGE : MAM_KDEBUG_NOWHERE;
	}
	if (found.what >= MAM_KDEBUG_TAKEN && found.gross > MAM_GUARD_FRONT &&
	    mam_kdebug_read(found.salt, found.base, MAM_GUARD_LIVE, &guard))
		return mam_collective_find(heap, found.base + mam_guard_front(&guard), guard.bytes,
					   address);
	piece.whole = NULL;
	piece.bytes = 0;
	piece.part = 0;
	piece.parts = 0;
	piece.live = false;
	piece.inside = false;
	return piece;
}

/*
 * Frees a part and returns the object whose last part it was; NULL: nothing is left to free, and
 * `done` is the result. Returns an address that is not a part unchanged. `all`: frees all parts.
 */
MAM_KSLOW void *mam_kdebug_part(struct mam_kheap *heap, void *object, bool all, bool *done)
{
	enum mam_collective_answer answer;
	struct mam_kpiece piece;

	*done = false;
	if (!mam_search_serves(heap))
		return object;
	piece = mam_kdebug_piece(heap, object);
	if (!piece.whole && all)
		return mam_kdebug_refuse(
			heap, piece.inside ? MAM_HEAP_INTERIOR_FREE : MAM_HEAP_FOREIGN_FREE, object,
			0, NULL);
	if (!piece.whole)
		return object;
	answer = all ? mam_collective_drop_all(piece) : mam_collective_drop(piece);
	if (answer == MAM_COLLECTIVE_LAST)
		return piece.whole;
	if (answer == MAM_COLLECTIVE_TWICE)
		return mam_kdebug_refuse(heap, MAM_HEAP_DOUBLE_FREE, object, 0, NULL);
	*done = true;
	return NULL;
}

MAM_KFN bool mam_kdebug_free(struct mam_kheap *heap, void *object)
{
	void *base;
	bool done;

	if (!object)
		return true;
	if (!heap)
		return false;
	object = mam_kdebug_part(heap, object, false, &done);
	if (!object)
		return done;
	base = mam_kdebug_back(heap, object);
	return base && mam_objects_free(heap, base);
}

/* The same by a lone lane, or one that may act as one: no collectives (objects.h). */
MAM_KSLOW bool mam_kdebug_free_lone(struct mam_kheap *heap, void *object)
{
	unsigned char *base = NULL;
	bool done;

	if (!object)
		return true;
	if (!heap || !mam_search_serves(heap))
		return false;
	object = mam_kdebug_part(heap, object, false, &done);
	if (!object)
		return done;
	base = (unsigned char *)mam_kdebug_back(heap, object);
	return base && mam_objects_free_lone(heap, base);
}

/* Reads the guard of a live object; returns false if the object is not live. */
MAM_KSLOW bool mam_kdebug_live(struct mam_kheap *heap, const void *object, struct mam_guard *guard,
			       struct mam_kfound_object *at)
{
	struct mam_kfound_object found;

	if (!mam_search_serves(heap))
		return false;
	found = mam_kdebug_find(heap, object, MAM_KDEBUG_RUN);
	*at = found;
	return found.what >= MAM_KDEBUG_TAKEN && found.gross > MAM_GUARD_FRONT &&
	       mam_kdebug_read(found.salt, found.base, MAM_GUARD_LIVE, guard) &&
	       found.base + mam_guard_front(guard) == (const unsigned char *)object;
}

/* Exactly the requested size. */
MAM_KFN size_t mam_kdebug_usable(struct mam_kheap *heap, const void *object)
{
	struct mam_kfound_object found;
	struct mam_kpiece piece;
	struct mam_guard guard;

	if (!heap || !object || !mam_search_serves(heap))
		return 0;
	if (mam_kdebug_live(heap, object, &guard, &found))
		return (size_t)guard.bytes;
	piece = mam_kdebug_piece(heap, object);
	return piece.live ? (size_t)piece.bytes : 0;
}

/* Frees all parts of the object that contains this part. Does not free an object without parts. */
MAM_KSLOW bool mam_kdebug_free_parts(struct mam_kheap *heap, void *part)
{
	void *object, *base;
	bool done;

	if (!part)
		return true;
	if (!heap)
		return false;
	object = mam_kdebug_part(heap, part, true, &done);
	if (!object)
		return done;
	base = mam_kdebug_back(heap, object);
	return base && mam_objects_free_lone(heap, base);
}

/* Shrinks in place, as there is no room for a new object. */
MAM_KSLOW void *mam_kdebug_shrink(struct mam_kheap *heap, void *object, size_t bytes)
{
	struct mam_kfound_object found;
	struct mam_guard guard;

	/* A part of an object has no zones of its own. */
	if (!mam_kdebug_live(heap, object, &guard, &found))
		return object;
	mam_kdebug_zones(heap, found.base, &guard);
	guard.bytes = bytes;
	mam_kdebug_fill(found.base, mam_guard_front(&guard) + bytes,
			mam_guard_end(mam_guard_gross(&guard), mam_guard_front(&guard), bytes),
			MAM_GUARD_ZONE_REAR);
	mam_kdebug_put(found.salt, found.base, guard, MAM_GUARD_LIVE);
	return object;
}

/* Copies the last bytes one by one, as a red zone follows them. */
MAM_KSLOW void mam_kdebug_copy(void *to, const void *from, size_t bytes)
{
	unsigned char *target = (unsigned char *)to;
	const unsigned char *source = (const unsigned char *)from;
	size_t i = bytes / 16 * 16;

	mam_resize_copy(to, from, i);
	for (; i < bytes; i++)
		target[i] = source[i];
}

/* Always moves the object, so that uses of the old address are detected. */
MAM_KFN void *mam_kdebug_realloc(struct mam_kheap *heap, void *object, size_t bytes)
{
	size_t had = mam_kdebug_usable(heap, object);
	void *fresh;

	if (object && (!had || !bytes)) {
		(void)mam_kdebug_free(heap, object);
		return NULL;
	}
	fresh = mam_kdebug_alloc(heap, bytes);
	if (!object)
		return fresh;
	if (!fresh)
		return bytes <= had ? mam_kdebug_shrink(heap, object, bytes) : NULL;
	mam_kdebug_copy(fresh, object, bytes < had ? bytes : had);
	(void)mam_kdebug_free(heap, object);
	return fresh;
}

#endif
