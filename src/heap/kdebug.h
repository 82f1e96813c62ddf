/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kdebug.h - the calls for objects as they are in kernels that are compiled with -DMAM_KDEBUG, on
 * heaps that are debugged: mistakes are found, reported (reports.h), and survived.
 *
 * To allocate:
 * 1. Ask the heap for more: room for a guard and two red zones (guard.h), and so much that what the
 *    program gets is aligned as heap.cuh promises.
 * 2. Look through it. Behind the guard of what was given back, up to the next guard, all must be
 *    poison; else somebody wrote there after giving it back. Guards are known by their state, so
 *    what was never used, or belongs to another heap's past, says nothing.
 * 3. Write both zones, fill what is between, and write the guard. That ends all guards that stood
 *    there: so none speaks for memory that was something else meanwhile, but where it ends another
 *    one stands.
 *
 * To give back:
 * 1. In whose units does the address lie? The books say where an object begins, whatever was
 *    written over (kfind.h). Nothing is read at an address that does not lie in the heap.
 * 2. Is it what the program got, and is that live? Who changes the guard's state by
 *    compare-and-swap is the only one who gives it back.
 * 3. Check both zones, poison all but the guard, and give it to the heap.
 *
 * What a mistake does: it is counted as in a heap that is not debugged, and reported. What was
 * written over, and has its guard, is given back; if the guard was written over, too, nobody knows
 * what it guards, and it stays where it is for good.
 *
 * Not found: what reads; a write that leaves the byte as it was; one beyond the zones; one into
 * what another has got meanwhile, and giving that back; in a large object that was given back,
 * anything, as its memory is the host's.
 *
 * Bound: as the heap, and a lane's writes over all of the object, twice.
 */
#ifndef MAM_HEAP_KDEBUG_H
#define MAM_HEAP_KDEBUG_H

#include "heap/kfind.h"

/* Where a run's first byte is aligned, and so what the program gets of it. */
#define MAM_KDEBUG_RUN (1u << MAM_UNIT_SHIFT)
#define MAM_KDEBUG_MOST ((uint64_t)1 << 47)

/* What the address of an object of `bytes` is a multiple of; a power of two. */
MAM_KFN uint32_t mam_kdebug_alignment(size_t bytes)
{
	uint32_t class_ = mam_class_of(bytes), whole = class_ ? mam_class_bytes(class_) : 0;

	if (!class_)
		return MAM_KDEBUG_RUN;
	return whole & (whole - 1) ? 1u << MAM_GRAIN_SHIFT : whole;
}

/* What the heap is asked for. */
MAM_KFN size_t mam_kdebug_gross(size_t bytes)
{
	if (!bytes || bytes > MAM_KDEBUG_MOST)
		return bytes;
	if (bytes > MAM_CLASS_BYTES_MAX)
		return bytes + MAM_KDEBUG_RUN + MAM_GUARD_REAR;
	return bytes + MAM_GUARD_FRONT + MAM_GUARD_REAR + mam_kdebug_alignment(bytes) -
	       (1u << MAM_GRAIN_SHIFT);
}

/* Where what the program has begins. */
MAM_KFN uint64_t mam_kdebug_front(const unsigned char *base, size_t bytes)
{
	uint64_t alignment = mam_kdebug_alignment(bytes), least;

	if (bytes > MAM_CLASS_BYTES_MAX)
		return MAM_KDEBUG_RUN;
	least = (uint64_t)(uintptr_t)base + MAM_GUARD_FRONT;
	return (least + alignment - 1) / alignment * alignment - (uint64_t)(uintptr_t)base;
}

/* The heap has given `object` for `bytes`, to be filled with `byte`: what the program gets. */
MAM_KSLOW void *mam_kdebug_dress(struct mam_kheap *heap, void *object, size_t bytes, uint32_t byte)
{
	struct mam_kfound_object found = mam_kdebug_find(heap, object, 0);
	unsigned char *base = (unsigned char *)object;
	uint64_t front = mam_kdebug_front(base, bytes), filled = bytes;
	struct mam_guard guard;

	if (found.what != MAM_KDEBUG_LARGE)
		mam_kdebug_look(heap, found.salt, base, mam_kdebug_least(found.gross));
	else if (byte)
		filled = mam_kdebug_least(bytes);
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

/* A free that is none. */
MAM_KFN void *mam_kdebug_refuse(const struct mam_kheap *heap, uint32_t kind, const void *address,
				int64_t offset, const struct mam_guard *guard)
{
	mam_object_tally_add(heap,
			     kind == MAM_HEAP_DOUBLE_FREE     ? MAM_OBJECT_TWICE
			     : kind == MAM_HEAP_INTERIOR_FREE ? MAM_OBJECT_INTERIOR
							      : MAM_OBJECT_FOREIGN,
			     1);
	mam_kdebug_tell(heap, kind, address, offset, guard);
	return NULL;
}

/* An address that nobody has: was it given back already? */
MAM_KFN void *mam_kdebug_stray(struct mam_kheap *heap, const unsigned char *object,
			       struct mam_kfound_object found)
{
	uint64_t most = MAM_CLASS_BYTES_MAX + MAM_GUARD_FRONT;
	struct mam_guard guard;

	if (!found.part)
		return mam_kdebug_refuse(heap, MAM_HEAP_FOREIGN_FREE, object, 0, NULL);
	if ((uint64_t)(object - found.part->ground) < most)
		most = (uint64_t)(object - found.part->ground);
	if (!mam_kdebug_gone(found.salt, object, found.base, most, &guard))
		return mam_kdebug_refuse(heap, MAM_HEAP_FOREIGN_FREE, object, 0, NULL);
	return mam_kdebug_refuse(heap, MAM_HEAP_DOUBLE_FREE, object, 0, &guard);
}

/* What is to be given to the heap for `object`, by the caller; NULL: nothing, and reported. */
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
			return mam_kdebug_refuse(heap, MAM_HEAP_INTERIOR_FREE, object,
						 user - found.base -
							 (int64_t)mam_guard_front(&guard),
						 &guard);
		if (!mam_kdebug_change(found.salt, found.base, MAM_GUARD_LIVE, MAM_GUARD_BUSY))
			return mam_kdebug_refuse(heap, MAM_HEAP_DOUBLE_FREE, object, 0, &guard);
		mam_kdebug_zones(heap, found.base, &guard);
		if (found.what != MAM_KDEBUG_LARGE)
			mam_kdebug_fill(found.base, MAM_GUARD_BYTES,
					mam_kdebug_least(found.gross), MAM_GUARD_POISON);
		guard.giver = mam_kdebug_me();
		mam_kdebug_put(found.salt, found.base, guard, MAM_GUARD_GONE);
		return found.base;
	}
	if (mam_kdebug_gone(found.salt, user, found.base, 0, &guard))
		return mam_kdebug_refuse(heap, MAM_HEAP_DOUBLE_FREE, object, 0, &guard);
	/* Others are just giving it back, or had done so, and another has got it. */
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
 * The part that begins at an address: of what the program has, which the guard says. `whole` of NULL: it
 * is none.
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
 * What goes back for a part: the object whose last it was; NULL: nothing more, and `done` is the answer.
 * For what is no part: itself. `all`: all parts.
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
		return mam_kdebug_refuse(heap,
					 piece.inside ? MAM_HEAP_INTERIOR_FREE
						      : MAM_HEAP_FOREIGN_FREE,
					 object, 0, NULL);
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

/* The same by a lane that is alone, or may as well be: no collectives (objects.h). */
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

/* The guard of a live object; false: nobody has it. */
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

/* What was asked for, and no byte more. */
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

/* All parts of the object that has this one. An object that has none is not given back by this. */
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

/* There is no room for another one: fewer bytes where it is. */
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

/* The last bytes by themselves, as a red zone begins behind them. */
MAM_KSLOW void mam_kdebug_copy(void *to, const void *from, size_t bytes)
{
	unsigned char *target = (unsigned char *)to;
	const unsigned char *source = (const unsigned char *)from;
	size_t i = bytes / 16 * 16;

	mam_resize_copy(to, from, i);
	for (; i < bytes; i++)
		target[i] = source[i];
}

/* Another object, always: so what points to the old one is found. */
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
