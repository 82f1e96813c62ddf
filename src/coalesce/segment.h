/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment.h - one part of a block that several lanes share: the small header in front of its payload,
 * and where both lie.
 *
 * 1. The header is directly in front of the payload, and is as large as the payload's address says:
 *    8 bytes where that is a multiple of 8, 4 where it is 4 more than one, 2 where it is 2 more than
 *    a multiple of 4. An odd address is no payload's.
 * 2. A payload is aligned as its size is, up to 16: of 16 n bytes to 16, of 8 n to 8, of 4 n to 4,
 *    all others to 2. So a header of 8 bytes is in front of 8 n bytes, of 4 in front of 4 n that are
 *    not 8 n, of 2 in front of all others; but of 4 there, too, if what it has to say does not fit 2.
 *    Each is as far down as that allows: the smaller header never ends later.
 * 3. The word in it: from its lowest bit on, is it free (MAM_SEGMENT_FREE), is it the first of its
 *    block (_FIRST), is it the highest that is not free (_LAST), and half of its distance: how far its
 *    payload is behind the one before it, or the first's behind the block's begin. All payloads are at
 *    even addresses, so that half of it is enough: 13 bits reach 16,382 bytes back.
 * 4. The word is written when the segment is made, and changed by compare-and-swap from then on: FREE
 *    is set once, LAST at most once, nothing is cleared.
 *
 * Source: Blach, Erhart, Memedi and Schaefer, "Coalescing Memory Allocations for GPU MPI", section
 * 3.2. There headers are 8 bytes and may be 4 or 2; the rule which one is taken when is ours, so are
 * the alignment to 16 and the distance in halves.
 *
 * What must hold: the block begins at a multiple of 16, and payloads are at most MAM_SEGMENT_REACH
 * apart, which a header of 4 bytes can say.
 */
#ifndef MAM_COALESCE_SEGMENT_H
#define MAM_COALESCE_SEGMENT_H

#include "heap/port_global.h"

#define MAM_SEGMENT_FREE 1u
#define MAM_SEGMENT_FIRST 2u
#define MAM_SEGMENT_LAST 4u
#define MAM_SEGMENT_SHIFT 2 /* of the distance, which is even */
#define MAM_SEGMENT_REACH ((1u << 30) - 2)
#define MAM_SEGMENT_REACH_SHORT ((1u << 14) - 2) /* of a header of 2 bytes */
#define MAM_SEGMENT_ALIGN 16u

/* Bytes of the header in front of `payload`; 1: that is no payload. */
MAM_KBOTH uint32_t mam_segment_header(uint64_t payload)
{
	uint32_t low = ((uint32_t)payload & 7) | 8;

	return low & (~low + 1);
}

/*
 * Where the payload of a segment of `bytes` goes that is behind one with its payload at `before` and
 * its end at `end`, all counted from the block's begin; of the first both are 0.
 */
MAM_KBOTH uint32_t mam_segment_place(uint32_t before, uint32_t end, uint32_t bytes)
{
	uint32_t at = ((end + 3) & ~3u) + 2;

	if (bytes % 16 == 0)
		return (end + 8 + 15) & ~15u;
	if (bytes % 8 == 0)
		return ((end + 7) & ~7u) + 8;
	if (bytes % 4 == 0 || at - before > MAM_SEGMENT_REACH_SHORT)
		return ((end + 7) & ~7u) + 4;
	return at;
}

MAM_KBOTH uint64_t mam_segment_word(uint32_t distance, bool first, bool last)
{
	return (uint64_t)distance << MAM_SEGMENT_SHIFT | (first ? MAM_SEGMENT_FIRST : 0) |
	       (last ? MAM_SEGMENT_LAST : 0);
}

MAM_KBOTH uint32_t mam_segment_distance(uint64_t word)
{
	return (uint32_t)(word >> MAM_SEGMENT_SHIFT) & ~1u;
}

/* Can `word` be in front of `payload`? Most of what is no header says no. */
MAM_KBOTH bool mam_segment_plausible(uint64_t payload, uint64_t word)
{
	uint32_t distance = mam_segment_distance(word), low = (uint32_t)payload % MAM_SEGMENT_ALIGN;

	if (word >> 32)
		return false;
	if (word & MAM_SEGMENT_FIRST)
		return distance == (low ? low : MAM_SEGMENT_ALIGN);
	return distance > mam_segment_header(payload);
}

/* ---- the word, of whichever size ------------------------------------------------------------ */

MAM_KFN uint64_t mam_segment_look(unsigned char *payload)
{
	void *word = payload - mam_segment_header((uintptr_t)payload);

	switch (mam_segment_header((uintptr_t)payload)) {
	case 2: return mam_atomic_load16((uint16_t *)word, MAM_RELAXED, MAM_AT_DEVICE);
	case 4: return mam_atomic_load32((uint32_t *)word, MAM_RELAXED, MAM_AT_DEVICE);
	default: return mam_global_load64((uint64_t *)word, MAM_RELAXED, MAM_AT_DEVICE);
	}
}

/* What is new; nobody else knows of the segment yet. */
MAM_KFN void mam_segment_write(unsigned char *payload, uint64_t value)
{
	void *word = payload - mam_segment_header((uintptr_t)payload);

	switch (mam_segment_header((uintptr_t)payload)) {
	case 2:
		mam_atomic_store16((uint16_t *)word, (uint16_t)value, MAM_RELAXED, MAM_AT_DEVICE);
		break;
	case 4:
		mam_atomic_store32((uint32_t *)word, (uint32_t)value, MAM_RELAXED, MAM_AT_DEVICE);
		break;
	default: mam_atomic_store64((uint64_t *)word, value, MAM_RELAXED, MAM_AT_DEVICE);
	}
}

/*
 * `seen` becomes `next`, and what the caller did before, comes before what is seen by who reads that.
 * Gives what was there.
 */
MAM_KFN uint64_t mam_segment_swap(unsigned char *payload, uint64_t seen, uint64_t next)
{
	void *word = payload - mam_segment_header((uintptr_t)payload);

	switch (mam_segment_header((uintptr_t)payload)) {
	case 2:
		return mam_atomic_cas16((uint16_t *)word, (uint16_t)seen, (uint16_t)next,
					MAM_RELEASE, MAM_AT_DEVICE);
	case 4:
		return mam_atomic_cas32((uint32_t *)word, (uint32_t)seen, (uint32_t)next,
					MAM_RELEASE, MAM_AT_DEVICE);
	default: return mam_global_cas64((uint64_t *)word, seen, next, MAM_RELEASE, MAM_AT_DEVICE);
	}
}

#endif
