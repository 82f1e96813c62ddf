/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots.h - the word of a slab: one bit per slot, 1 = free; the whole word is 0 where there is no
 * slab.
 *
 * A claim clears bits by one AND: the won slots are the requested bits that were set. It wins
 * nothing where there is no slab, so it may be tried anywhere in the class's words, without a look
 * before, and a won slot is never taken back. A release sets bits by one OR; a bit that was already
 * set is a double free. A claim acquires the release of the slot's last holder, and everything that
 * the opener of the slab did before it published the word.
 */
#ifndef MAM_HEAP_SLAB_SLOTS_H
#define MAM_HEAP_SLAB_SLOTS_H

#include "heap/pages/bitmap.h"
#include "heap/slab/metadata.h"

/* Adds to one kind of step counter, in the row of the calling warp. */
#define MAM_STEPS_ADD(heap, kind, n)                                                     \
	((void)mam_atomic_add64(                                                         \
		&(heap)->steps[(mam_smid() * 64 + mam_warpid()) & (heap)->columns].kind, \
		(uint64_t)(n), MAM_RELAXED, MAM_AT_DEVICE))

/* The word of a slab with all slots free. */
MAM_KFN uint64_t mam_slots_all(uint64_t traits)
{
	return mam_bits_span(0, mam_traits_slots(traits));
}

MAM_KFN uint64_t mam_slots_load(uint64_t *words, uint32_t word)
{
	return mam_global_load64(&words[word], MAM_RELAXED, MAM_AT_DEVICE);
}

/* Claims `chosen` and returns the old word. */
MAM_KFN uint64_t mam_slots_claim(uint64_t *words, uint32_t word, uint64_t chosen)
{
	return mam_global_and64(&words[word], ~chosen, MAM_ACQUIRE, MAM_AT_DEVICE);
}

/* Frees `given` and returns the old word. */
MAM_KFN uint64_t mam_slots_release(uint64_t *words, uint32_t word, uint64_t given)
{
	return mam_global_or64(&words[word], given, MAM_RELEASE, MAM_AT_DEVICE);
}

/* The position of the set bit of `x` that has `k` set bits below it. pre: there is one. */
MAM_KFN uint32_t mam_slots_nth(uint64_t x, uint32_t k)
{
	uint32_t low = mam_popc32((uint32_t)x);

	return k < low ? mam_bits_nth((uint32_t)x, k)
		       : 32 + mam_bits_nth((uint32_t)(x >> 32), k - low);
}

/* Returns whether the set bits of `x`, at least one, are consecutive. */
MAM_KFN bool mam_slots_in_line(uint64_t x)
{
	return !((x + (x & (~x + 1))) & x);
}

/* The same as mam_slots_nth(), faster where they are consecutive. */
MAM_KFN uint32_t mam_slots_pick(uint64_t x, uint32_t k)
{
	return mam_slots_in_line(x) ? mam_ffs64(x) - 1 + k : mam_slots_nth(x, k);
}

/* The `n` lowest set bits of `x`, all if there are no more. */
MAM_KFN uint64_t mam_slots_lowest(uint64_t x, uint32_t n)
{
	if (!n)
		return 0;
	return n >= mam_popc64(x) ? x : x & mam_bits_span(0, mam_slots_pick(x, n - 1) + 1);
}

#endif
