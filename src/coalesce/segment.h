/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment.h - one part of a block that several lanes share: the small header before its payload,
 * and the placement of both.
 *
 * 1. The header is directly before the payload, and the payload's address determines its size: 8
 *    bytes at a multiple of 8, 4 at 4 more than a multiple of 8, 2 at 2 more than a multiple of 4.
 *    A payload never has an odd address.
 * 2. A payload is aligned like its size, up to 16: 16 n bytes to 16, 8 n to 8, 4 n to 4, all others
 *    to 2. So the header is 8 bytes before 8 n bytes, 4 before 4 n that are not 8 n, and 2 before
 *    all others; but 4 there, too, if its contents do not fit in 2. Each payload is placed as low
 *    as that allows: the smaller header never ends later.
 * 3. The word in it has, from its lowest bit up: whether the segment is free (MAM_SEGMENT_FREE),
 *    whether it is the first of its block (_FIRST), whether it is the highest that is not free
 *    (_LAST), and half of its distance: the distance of its payload from the preceding one, or of
 *    the first from the block's begin. All payloads are at even addresses, so half of the distance
 *    is sufficient: 13 bits reach 16,382 bytes back.
 * 4. The word is written when the segment is created, and then changed only by compare-and-swap:
 *    FREE is set once, LAST at most once, and no bit is cleared.
 *
 * Source: Blach, Erhart, Memedi and Schaefer, "Coalescing Memory Allocations for GPU MPI", section
 * 3.2. There headers are 8 bytes and may be 4 or 2. The rule for the header size is ours, and so
 * are the alignment to 16 and the distance in halves.
 *
 * Contract: the block begins at a multiple of 16, and payloads are at most MAM_SEGMENT_REACH apart,
 * which a header of 4 bytes can store.
 */
#ifndef MAM_COALESCE_SEGMENT_H
#define MAM_COALESCE_SEGMENT_H

#include "device/port_global.h"

#define MAM_SEGMENT_FREE 1u
#define MAM_SEGMENT_FIRST 2u
#define MAM_SEGMENT_LAST 4u
#define MAM_SEGMENT_SHIFT 2 /* of the distance, which is even */
#define MAM_SEGMENT_REACH ((1u << 30) - 2)
#define MAM_SEGMENT_REACH_SHORT ((1u << 14) - 2) /* of a header of 2 bytes */
#define MAM_SEGMENT_ALIGN 16u

/* Bytes of the header before `payload`; 1: it is not a payload. */
MAM_KBOTH uint32_t mam_segment_header(uint64_t payload)
{
	uint32_t low = ((uint32_t)payload & 7) | 8;

	return low & (~low + 1);
}

/*
 * The payload's position for a segment of `bytes` that follows one with its payload at `before` and
 * its end at `end`, all relative to the block's begin; for the first segment both are 0.
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

/* Whether `word` can be the header of `payload`. Rejects most invalid words. */
MAM_KBOTH bool mam_segment_plausible(uint64_t payload, uint64_t word)
{
	uint32_t distance = mam_segment_distance(word), low = (uint32_t)payload % MAM_SEGMENT_ALIGN;

	if (word >> 32)
		return false;
	if (word & MAM_SEGMENT_FIRST)
		return distance == (low ? low : MAM_SEGMENT_ALIGN);
	return distance > mam_segment_header(payload);
}

/* ---- the word, of any size ------------------------------------------------------------------ */

MAM_KFN uint64_t mam_segment_look(unsigned char *payload)
{
	void *word = payload - mam_segment_header((uintptr_t)payload);

	switch (mam_segment_header((uintptr_t)payload)) {
	case 2: return mam_atomic_load16((uint16_t *)word, MAM_RELAXED, MAM_AT_DEVICE);
	case 4: return mam_atomic_load32((uint32_t *)word, MAM_RELAXED, MAM_AT_DEVICE);
	default: return mam_global_load64((uint64_t *)word, MAM_RELAXED, MAM_AT_DEVICE);
	}
}

/* Write a new word; no other lane knows the segment yet. */
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
 * Change `seen` to `next`, with release: the caller's earlier accesses happen before those of a
 * lane that acquires the new word. Returns the previous word.
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
