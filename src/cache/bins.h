/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bins.h - free blocks by their exact size: a stack for each number of granules up to 1 MiB.
 *
 *  1. A bin's head names its newest block and counts them. The rest of the stack runs through the
 *     blocks' tags (tag.h): device memory is not touched, and an empty bin costs 8 bytes.
 *  2. A bit for each bin that holds a block, and a bit for each word of those: the smallest bin at
 *     or above a size is found by two counts of trailing zeroes.
 *  3. What is taken out must say that it is in these bins and of this size. If it does not, a
 *     program freed one block from two threads at once. What hangs below it cannot be trusted: the
 *     bin is left empty and its blocks are counted as lost, until mam_cache_drain() finds them.
 *  4. A parcel is a stack without a bin, of mixed sizes of one octave: for the depot (depot.h).
 *
 * Bound: O(1) each, evict and shed O(1) a block.
 *
 * Threads: none of its own; the owner is a seat (seat.h), a parcel's whoever has it in hand.
 */
#ifndef MAM_CACHE_BINS_H
#define MAM_CACHE_BINS_H

#include "cache/tag.h"

#define MAM_BINS_COUNT (MAM_TAG_MOST + 1)
#define MAM_BINS_WORDS (MAM_BINS_COUNT / 64 + 1)
#define MAM_BINS_OCTAVES 12 /* of granules, from 1 to MAM_TAG_MOST */

struct mam_bins {
	uint64_t key;      /* of its blocks' tags: mam_tag_cached_key() */
	uint64_t granules; /* sum of the blocks */
	uint64_t blocks;   /* count */
	uint64_t lost;     /* count: blocks that a second free took out of reach */
	uint64_t summary;  /* bit w: used[w] is not 0 */
	uint64_t used[MAM_BINS_WORDS]; /* bit n: bin n holds a block */
	uint64_t octave[MAM_BINS_OCTAVES]; /* granules in bins 1, 2 to 3, 4 to 7, ... */
	/* number of the newest block's granule << 24 | blocks; 0: none */
	uint64_t head[MAM_BINS_COUNT];
};

#define MAM_PARCEL_BLOCKS 32u
#define MAM_PARCEL_GRANULES 8192u /* 4 MiB, and a block more */

struct mam_parcel {
	uint64_t first;    /* number of its newest block's granule */
	uint32_t blocks;   /* count */
	uint32_t granules; /* sum of the blocks */
};

#define MAM_BINS_HEAD_SHIFT 24
#define MAM_BINS_HEAD_COUNT ((UINT64_C(1) << MAM_BINS_HEAD_SHIFT) - 1)

/* mam_bins_best - the smallest bin from `least` to `most` that holds a block; 0: none. */
static inline uint64_t mam_bins_best(const struct mam_bins *bins, uint64_t least, uint64_t most)
{
	uint64_t word = least / 64, bits = bins->used[word] >> least % 64, found;

	if (bits != 0) {
		found = least + (uint64_t)__builtin_ctzll(bits);
	} else {
		bits = word == 63 ? 0 : bins->summary >> (word + 1);
		if (bits == 0)
			return 0;
		word += 1 + (uint64_t)__builtin_ctzll(bits);
		found = word * 64 + (uint64_t)__builtin_ctzll(bins->used[word]);
	}
	return found <= most ? found : 0;
}

static inline unsigned mam_bins_octave(uint64_t granules)
{
	return 63 - (unsigned)__builtin_clzll(granules);
}

/* The block may be anybody's until now: its tag is written here. */
static inline void mam_bins_push(struct mam_bins *bins, uintptr_t block, mam_tag_word *tag,
				 uint64_t granules)
{
	uint64_t head = bins->head[granules];

	mam_tag_write(tag,
		      mam_tag_cached(bins->key, granules, head >> MAM_BINS_HEAD_SHIFT));
	bins->head[granules] = (uint64_t)(block >> MAM_TAG_SHIFT) << MAM_BINS_HEAD_SHIFT |
			       ((head & MAM_BINS_HEAD_COUNT) + 1);
	bins->used[granules / 64] |= UINT64_C(1) << granules % 64;
	bins->summary |= UINT64_C(1) << granules / 64;
	bins->octave[mam_bins_octave(granules)] += granules;
	bins->granules += granules;
	bins->blocks++;
}

/* mam_bins_lose - the bin's blocks are out of reach. */
void mam_bins_lose(struct mam_bins *bins, uint64_t granules);

/*
 * mam_bins_pop - the newest block of a bin that holds one, and its tag, which still says CACHED; 0:
 * it was lost with the bin.
 */
static inline uintptr_t mam_bins_pop(struct mam_bins *bins, uint64_t granules, mam_tag_word **tag)
{
	uint64_t head = bins->head[granules], value;
	uintptr_t block = (uintptr_t)(head >> MAM_BINS_HEAD_SHIFT) << MAM_TAG_SHIFT;
	mam_tag_word *place = mam_tag_find(block, granules);

	value = mam_tag_read(place);
	if ((value & MAM_TAG_CACHED_MASK) != (bins->key | granules << 3)) {
		mam_bins_lose(bins, granules);
		return 0;
	}
	if ((head & MAM_BINS_HEAD_COUNT) == 1) {
		bins->head[granules] = 0;
		bins->used[granules / 64] &= ~(UINT64_C(1) << granules % 64);
		if (bins->used[granules / 64] == 0)
			bins->summary &= ~(UINT64_C(1) << granules / 64);
	} else {
		bins->head[granules] = mam_tag_next(value) << MAM_BINS_HEAD_SHIFT |
				       ((head & MAM_BINS_HEAD_COUNT) - 1);
	}
	bins->octave[mam_bins_octave(granules)] -= granules;
	bins->granules -= granules;
	bins->blocks--;
	*tag = place;
	return block;
}

/*
 * mam_bins_evict - up to `count` blocks out of the octave of sizes that holds most bytes, so that
 * no size crowds out the others. Their tags are 0. Answers how many; 0: the bins are empty.
 */
size_t mam_bins_evict(struct mam_bins *bins, void **blocks, size_t count);

/* mam_bins_fullest - the octave that mam_bins_evict() would choose. */
unsigned mam_bins_fullest(const struct mam_bins *bins);

/* mam_bins_pack - blocks of an octave into a parcel, sizes in turn; false: there are none. */
bool mam_bins_pack(struct mam_bins *bins, unsigned octave, struct mam_parcel *parcel);

/* mam_bins_unpack - what is left of a parcel after double frees into bins, the rest is lost. */
void mam_bins_unpack(struct mam_bins *bins, unsigned octave, const struct mam_parcel *parcel);

/*
 * mam_parcel_end - its blocks without tags. Answers how many; fewer than it has: the rest is lost.
 */
size_t mam_parcel_end(const struct mam_parcel *parcel, unsigned octave,
		      void *blocks[MAM_PARCEL_BLOCKS]);
const char *mam_parcel_check(const struct mam_parcel *parcel, unsigned octave);

/* mam_bins_check - counts and bits are those of the stacks. NULL or one sentence. */
const char *mam_bins_check(const struct mam_bins *bins);

#endif
