/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bitmap.h - one word of a heap's bitmap: the atomics on it, and arithmetic on its 64 bits.
 *
 * A claim acquires: the last owner wrote the page before the release that cleared the bit. Loads of
 * a word are unordered, since a load decides nothing: only the old value of an atomic does.
 */
#ifndef MAM_HEAP_PAGES_BITMAP_H
#define MAM_HEAP_PAGES_BITMAP_H

#include "heap/pages/layout.h"
#include "device/port_global.h"

#define MAM_WORD_FULL (~(uint64_t)0)

MAM_KFN uint64_t mam_bitmap_load(MAM_GLOBAL uint64_t *bits, uint32_t word)
{
	return mam_global_load64(&bits[word], MAM_RELAXED, MAM_AT_DEVICE);
}

/*
 * Sets `chosen` and returns the old word. The bits of `chosen` that were clear in it are won, and
 * stay won.
 */
MAM_KFN uint64_t mam_bitmap_claim(MAM_GLOBAL uint64_t *bits, uint32_t word, uint64_t chosen)
{
	return mam_global_or64(&bits[word], chosen, MAM_ACQUIRE, MAM_AT_DEVICE);
}

/* Clears `given` and returns the old word. */
MAM_KFN uint64_t mam_bitmap_release(MAM_GLOBAL uint64_t *bits, uint32_t word, uint64_t given)
{
	return mam_global_and64(&bits[word], ~given, MAM_RELEASE, MAM_AT_DEVICE);
}

/* `n` bits starting at bit `first`, all in one word; n is 1 to 64. */
MAM_KFN uint64_t mam_bits_span(uint32_t first, uint32_t n)
{
	return MAM_WORD_FULL >> (64 - n) << first;
}

/*
 * Sets `next` if the word still equals `seen`, and returns the old word. Also releases: a thread
 * that sees a bit of a run that is being claimed, by any load, and then fences, sees that the run
 * is open (scan.h).
 */
MAM_KFN uint64_t mam_bitmap_swap(MAM_GLOBAL uint64_t *bits, uint32_t word, uint64_t seen,
				 uint64_t next)
{
	return mam_global_cas64(&bits[word], seen, next, MAM_ACQ_REL, MAM_AT_DEVICE);
}

MAM_KFN uint64_t mam_bits_rotate_right(uint64_t x, uint32_t by)
{
	return x >> (by & 63) | x << (-by & 63);
}

MAM_KFN uint64_t mam_bits_rotate_left(uint64_t x, uint32_t by)
{
	return x << (by & 63) | x >> (-by & 63);
}

/*
 * At most `n` of the set bits of `x`: the first ones starting at bit `from`, upward with
 * wraparound.
 */
MAM_KFN uint64_t mam_bits_pick(uint64_t x, uint32_t n, uint32_t from)
{
	uint64_t left = mam_bits_rotate_right(x, from), picked = 0;

	MAM_ROLLED
	for (; n && left; n--) {
		picked |= left & (~left + 1);
		left &= left - 1;
	}
	return mam_bits_rotate_left(picked, from);
}

/* The position of the set bit of `x` that has `k` set bits below it. pre: there is one. */
MAM_KFN uint32_t mam_bits_nth(uint32_t x, uint32_t k)
{
	uint32_t at = 0, width, below;

	MAM_ROLLED
	for (width = 16; width; width /= 2) {
		below = mam_popc32(x >> at & ((1u << width) - 1));
		if (k >= below) {
			k -= below;
			at += width;
		}
	}
	return at;
}

/* The positions where `n` consecutive set bits start, as bits. */
MAM_KFN uint64_t mam_bits_stretches(uint64_t x, uint32_t n)
{
	uint32_t have = 1, more;

	MAM_ROLLED
	while (have < n && x) {
		more = n - have < have ? n - have : have;
		x &= x >> more;
		have += more;
	}
	return x;
}

#endif
