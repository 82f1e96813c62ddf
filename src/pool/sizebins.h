/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sizebins.h - the small holes of a pool by size: a list for each size of 1 to 511 granules.
 *
 *  1. A bin a size, its holes a list (peers.h). A bit says which bins are not empty.
 *  2. best: the first set bit from the request's own size upwards. Exact best fit, in a few words
 *     of bits.
 *
 * A tree by size (sizetree.h) does the same for every size; but a descent is a chain of loads and
 * of branches that cannot be guessed, and small holes are most of the holes. With 1,000 blocks and
 * 1,000 holes of up to 16 KiB an allocation cost half again as much with the tree alone.
 *
 * Source: the small bins of D. Lea, "A Memory Allocator", 1996, with one bin for each granule.
 *
 * Bound: O(1); best looks at 8 words at most. lock: pool.
 */
#ifndef MAM_POOL_SIZEBINS_H
#define MAM_POOL_SIZEBINS_H

#include "pool/peers.h"

#define MAM_SIZEBINS 512u /* bin n: holes of n granules; bin 0 is never used */
#define MAM_SIZEBINS_WORDS (MAM_SIZEBINS / 64)

struct mam_sizebins {
	uint32_t *first;                   /* of each bin; 0: empty */
	uint64_t full[MAM_SIZEBINS_WORDS]; /* bit n: bin n is not empty */
	unsigned granule_shift;            /* lock: none, set at init */
};

/* mam_sizebins_init - `first` is zeroed memory for MAM_SIZEBINS, the caller's. */
void mam_sizebins_init(struct mam_sizebins *bins, size_t granule, uint32_t *first);

static inline bool mam_sizebins_take_size(const struct mam_sizebins *bins, uint64_t bytes)
{
	return bytes >> bins->granule_shift < MAM_SIZEBINS;
}

/* pre of the next three: mam_sizebins_take_size() of the size */
static inline void mam_sizebins_insert(struct mam_sizebins *bins,
				       const struct mam_records *segments, uint32_t handle)
{
	uint64_t bin = mam_segment_at(segments, handle)->bytes >> bins->granule_shift;

	bins->first[bin] = mam_peers_put(segments, bins->first[bin], handle);
	bins->full[bin / 64] |= (uint64_t)1 << bin % 64;
}

static inline void mam_sizebins_remove(struct mam_sizebins *bins,
				       const struct mam_records *segments, uint32_t handle)
{
	uint64_t bin = mam_segment_at(segments, handle)->bytes >> bins->granule_shift;

	bins->first[bin] = mam_peers_take(segments, bins->first[bin], handle);
	bins->full[bin / 64] &= ~((uint64_t)(bins->first[bin] == 0) << bin % 64);
}

/* mam_sizebins_best - one of the smallest holes of at least `bytes`; 0 if there is none here. */
static inline uint32_t mam_sizebins_best(const struct mam_sizebins *bins, uint64_t bytes)
{
	uint64_t bin = bytes >> bins->granule_shift;
	uint64_t word = bin / 64;
	uint64_t left = bins->full[word] & ~(uint64_t)0 << bin % 64;

	while (left == 0) {
		if (++word == MAM_SIZEBINS_WORDS)
			return 0;
		left = bins->full[word];
	}
	return bins->first[word * 64 + (unsigned)__builtin_ctzll(left)];
}

/*
 * mam_sizebins_below - a hole of the largest size under `bytes` granule by granule; 0 if there is
 * none.
 */
uint32_t mam_sizebins_below(const struct mam_sizebins *bins, uint64_t bytes);

/* mam_sizebins_check - NULL or one sentence; adds the holes to *count, which `most` bounds. */
const char *mam_sizebins_check(const struct mam_sizebins *bins, const struct mam_records *segments,
			       uint64_t most, uint64_t *count);

#endif
