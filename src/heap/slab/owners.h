/* SPDX-License-Identifier: Apache-2.0 */
/*
 * owners.h - one byte per unit that records what claimed it. Eight bytes share a word, and other
 * lanes change their bytes concurrently, so all accesses are atomic.
 *
 * A byte is changed only by the thread that claimed the unit, or, for a slab, by the thread that
 * set MAM_OWNER_MOVING there: from 0 by OR, to 0 by AND. The holder of an object may read its
 * unit's byte without ordering: it was written before the object was returned, and stays until the
 * object is freed.
 */
#ifndef MAM_HEAP_SLAB_OWNERS_H
#define MAM_HEAP_SLAB_OWNERS_H

#include "heap/slab/slots.h"

/* `byte` at the positions from `from` to before `to` of a word, 0 to 8. */
MAM_KFN uint64_t mam_owners_pattern(uint32_t byte, uint32_t from, uint32_t to)
{
	return (uint64_t)0x0101010101010101 * byte & mam_bits_span(8 * from, 8 * (to - from));
}

MAM_KFN uint32_t mam_owners_byte(uint64_t word, uint32_t unit)
{
	return (uint32_t)(word >> 8 * (unit % 8)) & 255;
}

MAM_KFN uint32_t mam_owners_load(const struct mam_kheap *heap, uint32_t unit)
{
	return mam_owners_byte(
		mam_global_load64(&heap->owners[unit / 8], MAM_RELAXED, MAM_AT_DEVICE), unit);
}

/* The same with an acquire: pairs with mam_owners_remove(). */
MAM_KFN uint32_t mam_owners_load_acquire(const struct mam_kheap *heap, uint32_t unit)
{
	return mam_owners_byte(
		mam_global_load64(&heap->owners[unit / 8], MAM_ACQUIRE, MAM_AT_DEVICE), unit);
}

/* Sets `n` units starting at `unit` from 0 to `byte`. */
MAM_KFN void mam_owners_set(const struct mam_kheap *heap, uint32_t unit, uint32_t n, uint32_t byte)
{
	uint32_t end = unit + n, to;

	MAM_ROLLED
	for (; unit < end; unit = to) {
		to = (unit | 7) + 1 < end ? (unit | 7) + 1 : end;
		(void)mam_global_or64(&heap->owners[unit / 8],
				      mam_owners_pattern(byte, unit % 8, (to - 1) % 8 + 1),
				      MAM_RELAXED, MAM_AT_DEVICE);
	}
}

/* Sets them to 0. */
MAM_KFN void mam_owners_clear(const struct mam_kheap *heap, uint32_t unit, uint32_t n)
{
	uint32_t end = unit + n, to;

	MAM_ROLLED
	for (; unit < end; unit = to) {
		to = (unit | 7) + 1 < end ? (unit | 7) + 1 : end;
		(void)mam_global_and64(&heap->owners[unit / 8],
				       ~mam_owners_pattern(255, unit % 8, (to - 1) % 8 + 1),
				       MAM_RELAXED, MAM_AT_DEVICE);
	}
}

/* A byte of 255 for each bit of `bits`, 0 to 255. */
MAM_KFN uint64_t mam_owners_spread(uint32_t bits)
{
	uint64_t one = bits * (uint64_t)0x0101010101010101 & 0x8040201008040201;

	/* A byte with a bit overflows into its highest bit, and never into the next byte. */
	one = (one + 0x7f7f7f7f7f7f7f7f) >> 7 & 0x0101010101010101;
	return one * 255;
}

/* Adds the bits of `byte` to the owners of some units of a block. */
MAM_KFN void mam_owners_add(const struct mam_kheap *heap, uint32_t block, uint64_t units,
			    uint32_t byte)
{
	uint64_t each = (uint64_t)0x0101010101010101 * byte;
	uint32_t at;

	MAM_ROLLED
	for (; units; units &= MAM_WORD_FULL << 8 * at << 8) {
		at = (mam_ffs64(units) - 1) / 8;
		(void)mam_global_or64(&heap->owners[block * 8 + at],
				      mam_owners_spread((uint32_t)(units >> 8 * at) & 255) & each,
				      MAM_RELAXED, MAM_AT_DEVICE);
	}
}

/*
 * Removes the bits of `byte` from the owners of some units of a block, as a release: a thread that
 * sees this sees everything done before. One fence, as each of several releases would wait for the
 * one before.
 */
MAM_KFN void mam_owners_remove(const struct mam_kheap *heap, uint32_t block, uint64_t units,
			       uint32_t byte)
{
	uint64_t each = (uint64_t)0x0101010101010101 * byte;
	uint32_t at;

	mam_fence(MAM_RELEASE, MAM_AT_DEVICE);
	MAM_ROLLED
	for (; units; units &= MAM_WORD_FULL << 8 * at << 8) {
		at = (mam_ffs64(units) - 1) / 8;
		(void)mam_global_and64(
			&heap->owners[block * 8 + at],
			~(mam_owners_spread((uint32_t)(units >> 8 * at) & 255) & each), MAM_RELAXED,
			MAM_AT_DEVICE);
	}
}

/* Changes the unit from `byte` to `next`. Returns false if it had another value. */
MAM_KFN bool mam_owners_change(const struct mam_kheap *heap, uint32_t unit, uint32_t byte,
			       uint32_t next)
{
	uint64_t *where = &heap->owners[unit / 8], old;
	uint64_t seen = mam_global_load64(where, MAM_RELAXED, MAM_AT_DEVICE);

	MAM_ROLLED
	while (mam_owners_byte(seen, unit) == byte) {
		old = mam_global_cas64(where, seen,
				       seen ^ (uint64_t)(byte ^ next) << 8 * (unit % 8),
				       MAM_ACQ_REL, MAM_AT_DEVICE);
		if (old == seen)
			return true;
		seen = old;
	}
	return false;
}

/*
 * Sets `n` units starting at `unit` to 0 if the first one has the value `byte`. Returns false if it
 * had another one.
 */
MAM_KFN bool mam_owners_take(const struct mam_kheap *heap, uint32_t unit, uint32_t n, uint32_t byte)
{
	uint32_t end = unit + n < (unit | 7) + 1 ? unit + n : (unit | 7) + 1;
	uint64_t *where = &heap->owners[unit / 8], old;
	uint64_t seen = mam_global_load64(where, MAM_RELAXED, MAM_AT_DEVICE);
	uint64_t own = mam_owners_pattern(255, unit % 8, (end - 1) % 8 + 1);

	MAM_ROLLED
	while (mam_owners_byte(seen, unit) == byte) {
		old = mam_global_cas64(where, seen, seen & ~own, MAM_RELAXED, MAM_AT_DEVICE);
		if (old == seen) {
			mam_owners_clear(heap, end, unit + n - end);
			return true;
		}
		seen = old;
	}
	return false;
}

#endif
