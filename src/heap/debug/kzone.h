/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kzone.h - the bytes around and in objects of a debugged heap, and their guards, as a lane writes
 * and checks them (guard.h).
 *
 * The sole owner of an object writes it with plain stores, except for its guard, which lanes that
 * free it a second time may be reading at the same time. Of concurrent frees, the state decides
 * which one succeeds. A guard is read between two loads of its state, with fences that make the
 * second one see the state of a lane that has written any of it.
 */
#ifndef MAM_HEAP_DEBUG_KZONE_H
#define MAM_HEAP_DEBUG_KZONE_H

#include "heap/debug/kreport.h"
#include "heap/objects/resize.h"

MAM_KFN uint64_t mam_kdebug_word(uint32_t byte)
{
	return byte * (uint64_t)0x0101010101010101u;
}

/* Fills from offset `from` to before `to`, 16 bytes at a time except at the ends. */
MAM_KFN void mam_kdebug_fill(unsigned char *at, uint64_t from, uint64_t to, uint32_t byte)
{
	struct mam_resize_piece piece;

	piece.half[0] = mam_kdebug_word(byte);
	piece.half[1] = piece.half[0];
	for (; from < to && from % 16; from++)
		at[from] = (unsigned char)byte;
	for (; from + 16 <= to; from += 16)
		*(struct mam_resize_piece *)(at + from) = piece;
	for (; from < to; from++)
		at[from] = (unsigned char)byte;
}

/* The offset of the first byte that differs; `to`: none does. */
MAM_KFN uint64_t mam_kdebug_differs(const unsigned char *at, uint64_t from, uint64_t to,
				    uint32_t byte)
{
	uint64_t word = mam_kdebug_word(byte);
	struct mam_resize_piece piece;

	while (from < to) {
		if (from % 16 == 0 && from + 16 <= to) {
			piece = *(const struct mam_resize_piece *)(at + from);
			if (piece.half[0] == word && piece.half[1] == word) {
				from += 16;
				continue;
			}
		}
		if (at[from] != byte)
			break;
		from++;
	}
	return from;
}

/* The values mixed into the guards of a part of the heap. */
struct mam_ksalt {
	uint64_t heap, part;
};

/* `part` may be NULL: no part. */
MAM_KFN struct mam_ksalt mam_kdebug_salts(const struct mam_kheap *heap, struct mam_kheap *part)
{
	struct mam_ksalt salt;

	salt.heap = heap->growth ? heap->growth->salt : 0;
	salt.part = salt.heap;
	if (part)
		salt.part += mam_atomic_load32(&part->born, MAM_RELAXED, MAM_AT_DEVICE);
	return salt;
}

MAM_KFN uint64_t mam_kdebug_state(struct mam_ksalt salt, uint64_t state, const void *guard)
{
	return mam_guard_state(state, (uint64_t)(uintptr_t)guard, salt.part);
}

/* Returns whether the check of a guard read at `at` is right. */
MAM_KFN bool mam_kdebug_sound(struct mam_ksalt salt, const struct mam_guard *guard, const void *at)
{
	return guard->check == mam_guard_check(guard, (uint64_t)(uintptr_t)at, salt.heap);
}

/* Word number i of a guard, counted from its state. */
MAM_KFN uint64_t mam_kdebug_load(const unsigned char *at, uint32_t i)
{
	return mam_atomic_load64((uint64_t *)(uintptr_t)at + i, MAM_RELAXED, MAM_AT_DEVICE);
}

MAM_KFN void mam_kdebug_store(unsigned char *at, uint32_t i, uint64_t word)
{
	mam_atomic_store64((uint64_t *)at + i, word, MAM_RELAXED, MAM_AT_DEVICE);
}

/*
 * Reads the guard at `at` if it has this state during the whole read; returns false if it has
 * another state or its check is wrong.
 */
MAM_KFN bool mam_kdebug_read(struct mam_ksalt salt, const unsigned char *at, uint64_t state,
			     struct mam_guard *guard)
{
	guard->state = mam_kdebug_state(salt, state, at);
	if (mam_kdebug_load(at, 0) != guard->state)
		return false;
	mam_fence(MAM_ACQUIRE, MAM_AT_DEVICE);
	guard->check = mam_kdebug_load(at, 1);
	guard->bytes = mam_kdebug_load(at, 2);
	guard->shape = mam_kdebug_load(at, 3);
	guard->holder.word[0] = mam_kdebug_load(at, 4);
	guard->holder.word[1] = mam_kdebug_load(at, 5);
	guard->giver.word[0] = mam_kdebug_load(at, 6);
	guard->giver.word[1] = mam_kdebug_load(at, 7);
	mam_fence(MAM_ACQUIRE, MAM_AT_DEVICE);
	return mam_kdebug_load(at, 0) == guard->state && mam_kdebug_sound(salt, guard, at);
}

/* Changes the state; of concurrent callers one succeeds. */
MAM_KFN bool mam_kdebug_change(struct mam_ksalt salt, unsigned char *at, uint64_t from, uint64_t to)
{
	uint64_t was = mam_kdebug_state(salt, from, at);

	return mam_atomic_cas64((uint64_t *)at, was, mam_kdebug_state(salt, to, at), MAM_ACQ_REL,
				MAM_AT_DEVICE) == was;
}

/* Writes a whole guard. pre: the caller owns the object exclusively. */
MAM_KFN void mam_kdebug_put(struct mam_ksalt salt, unsigned char *at, struct mam_guard guard,
			    uint64_t state)
{
	/* A lane that frees it a second time may be reading. */
	mam_kdebug_store(at, 0, mam_kdebug_state(salt, MAM_GUARD_BUSY, at));
	mam_fence(MAM_RELEASE, MAM_AT_DEVICE);
	mam_kdebug_store(at, 1, mam_guard_check(&guard, (uint64_t)(uintptr_t)at, salt.heap));
	mam_kdebug_store(at, 2, guard.bytes);
	mam_kdebug_store(at, 3, guard.shape);
	mam_kdebug_store(at, 4, guard.holder.word[0]);
	mam_kdebug_store(at, 5, guard.holder.word[1]);
	mam_kdebug_store(at, 6, guard.giver.word[0]);
	mam_kdebug_store(at, 7, guard.giver.word[1]);
	mam_atomic_store64((uint64_t *)at, mam_kdebug_state(salt, state, at), MAM_RELEASE,
			   MAM_AT_DEVICE);
}

/*
 * Reads the guard of a freed object that started at `object`: at `base`; NULL: at most `most` bytes
 * before.
 */
MAM_KFN bool mam_kdebug_gone(struct mam_ksalt salt, const unsigned char *object,
			     const unsigned char *base, uint64_t max, struct mam_guard *guard)
{
	uint64_t front;

	if (base)
		return mam_kdebug_read(salt, base, MAM_GUARD_GONE, guard) &&
		       base + mam_guard_front(guard) == object;
	if ((uintptr_t)object % 16)
		return false;
	for (front = MAM_GUARD_FRONT; front <= max; front += 16)
		if (mam_kdebug_read(salt, object - front, MAM_GUARD_GONE, guard) &&
		    mam_guard_front(guard) == front)
			return true;
	return false;
}

/* How much of an object is checked. */
MAM_KFN uint64_t mam_kdebug_min(uint64_t bytes)
{
	return bytes < MAM_GUARD_LOOK ? bytes : MAM_GUARD_LOOK;
}

/* Reports a write after free to `bytes` bytes that the heap has just allocated. */
MAM_KFN void mam_kdebug_look(const struct mam_kheap *heap, struct mam_ksalt salt,
			     const unsigned char *object, uint64_t bytes)
{
	const uint64_t poison = mam_kdebug_word(MAM_GUARD_POISON);
	const unsigned char *user;
	uint64_t at, end = 0, of = 0, bad;
	struct mam_resize_piece piece;
	struct mam_guard guard;

	for (at = 0; at + 16 <= bytes; at += 16) {
		piece = *(const struct mam_resize_piece *)(object + at);
		if (piece.half[0] == poison && piece.half[1] == poison)
			continue;
		if (piece.half[0] == mam_kdebug_state(salt, MAM_GUARD_LIVE, object + at)) {
			end = 0; /* from before a reset */
		} else if (piece.half[0] == mam_kdebug_state(salt, MAM_GUARD_GONE, object + at)) {
			end = 0;
			if (at + MAM_GUARD_BYTES > bytes)
				continue;
			guard = *(const struct mam_guard *)(object + at);
			of = at;
			if (mam_kdebug_sound(salt, &guard, object + at))
				end = of + mam_kdebug_min(mam_guard_gross(&guard));
			at += MAM_GUARD_BYTES - 16;
		} else if (at < end) {
			user = object + of + mam_guard_front(&guard);
			bad = mam_kdebug_differs(object, at, at + 16, MAM_GUARD_POISON);
			mam_kdebug_report(heap, MAM_HEAP_WRITTEN_AFTER_FREE, user,
					  (int64_t)(bad - of - mam_guard_front(&guard)), &guard);
			end = 0;
		}
	}
}

/* Checks both zones; reports a changed byte. */
MAM_KFN void mam_kdebug_zones(const struct mam_kheap *heap, unsigned char *base,
			      const struct mam_guard *guard)
{
	uint64_t front = mam_guard_front(guard), rear = front + guard->bytes, end, bad;

	end = mam_guard_end(mam_guard_gross(guard), front, guard->bytes);
	bad = mam_kdebug_differs(base, MAM_GUARD_BYTES, front, MAM_GUARD_ZONE_FRONT);
	if (bad != front)
		mam_kdebug_report(heap, MAM_HEAP_UNDERRUN, base + front, (int64_t)(bad - front),
				  guard);
	bad = mam_kdebug_differs(base, rear, end, MAM_GUARD_ZONE_REAR);
	if (bad != end)
		mam_kdebug_report(heap, MAM_HEAP_OVERRUN, base + front, (int64_t)(bad - front),
				  guard);
}

#endif
