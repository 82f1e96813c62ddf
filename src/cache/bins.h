/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bins.h - free blocks by their exact size: one stack for each number of granules up to 1 MiB.
 *
 *  1. A bin's head contains its newest block and the number of its blocks. The rest of the stack is
 *     linked through the blocks' tags (blocktag.h): device memory is not accessed, and an empty bin
 *     takes 8 bytes.
 *  2. One bit per nonempty bin, and one bit per nonzero word of those: two trailing-zero counts
 *     find the smallest bin at or above a size.
 *  3. The tag of a popped block must show that it is in these bins and has this size. If it does
 *     not, a program freed one block from two threads at once. The links below that block are not
 *     trustworthy: the bin is emptied and its blocks are counted as lost, until mam_cache_drain()
 *     finds them.
 *  4. A batch is a stack without a bin, of mixed sizes of one octave: for the transfer
 *     cache (transfer.h).
 *
 * Bound: O(1) each, evict and shed O(1) per block.
 *
 * Threads: no locking here; the owner is a thread cache (tcache.h), that of a batch is the thread
 * that packs or unpacks it.
 */
#ifndef MAM_CACHE_BINS_H
#define MAM_CACHE_BINS_H

#include <stddef.h>

#include "cache/blocktag.h"

#define MAM_BINS_COUNT (MAM_BLOCKTAG_MAX + 1)
#define MAM_BINS_WORDS (MAM_BINS_COUNT / 64 + 1)
#define MAM_BINS_OCTAVES 12 /* of granules, from 1 to MAM_BLOCKTAG_MAX */

struct mam_bins {
	uint64_t key;                  /* of the tags of its blocks: mam_blocktag_cached_key() */
	uint64_t granules;             /* sum of the blocks */
	uint64_t lost;                 /* count: blocks made unreachable by a double free */
	uint64_t blocks;               /* count; not beside `granules`, see below */
	uint64_t summary;              /* bit w: used[w] is not 0 */
	uint64_t used[MAM_BINS_WORDS]; /* bit n: bin n is not empty */
	uint64_t octave[MAM_BINS_OCTAVES]; /* granules in bins 1, 2 to 3, 4 to 7, ... */
	/* number of the newest block's granule << 24 | blocks; 0: none */
	uint64_t head[MAM_BINS_COUNT];
};

/*
 * Compilers write two neighbors that change together as one vector. A load that spans two separate
 * stores waits until both have reached the cache.
 */
_Static_assert(offsetof(struct mam_bins, blocks) >= offsetof(struct mam_bins, granules) + 16,
	       "the sums are apart");

#define MAM_BATCH_BLOCKS 32u
#define MAM_BATCH_GRANULES 8192u /* 4 MiB, plus at most one block */

struct mam_batch {
	uint64_t first;    /* number of its newest block's granule */
	uint32_t blocks;   /* count */
	uint32_t granules; /* sum of the blocks */
};

#define MAM_BINS_HEAD_SHIFT 24
#define MAM_BINS_HEAD_COUNT ((UINT64_C(1) << MAM_BINS_HEAD_SHIFT) - 1)

/* mam_bins_best - the smallest nonempty bin from `least` to `most`; 0: none. */
static inline uint64_t mam_bins_best(const struct mam_bins *bins, uint64_t min, uint64_t max)
{
	uint64_t word = min / 64, bits = bins->used[word] >> min % 64, found;

	if (bits != 0) {
		found = min + (uint64_t)__builtin_ctzll(bits);
	} else {
		bits = word == 63 ? 0 : bins->summary >> (word + 1);
		if (bits == 0)
			return 0;
		word += 1 + (uint64_t)__builtin_ctzll(bits);
		found = word * 64 + (uint64_t)__builtin_ctzll(bins->used[word]);
	}
	return found <= max ? found : 0;
}

static inline unsigned mam_bins_octave(uint64_t granules)
{
	return 63 - (unsigned)__builtin_clzll(granules);
}

/* Until this call another thread may own the block: its tag is written here. */
static inline void mam_bins_push(struct mam_bins *bins, uintptr_t block, mam_blocktag_word *tag,
				 uint64_t granules)
{
	uint64_t head = bins->head[granules];

	mam_blocktag_write(tag,
			   mam_blocktag_cached(bins->key, granules, head >> MAM_BINS_HEAD_SHIFT));
	bins->head[granules] = (uint64_t)(block >> MAM_BLOCKTAG_SHIFT) << MAM_BINS_HEAD_SHIFT |
			       ((head & MAM_BINS_HEAD_COUNT) + 1);
	if (head == 0) {
		bins->used[granules / 64] |= UINT64_C(1) << granules % 64;
		bins->summary |= UINT64_C(1) << granules / 64;
	}
	bins->octave[mam_bins_octave(granules)] += granules;
	bins->granules += granules;
	bins->blocks++;
}

/* mam_bins_lose - count the blocks of a bin as lost. */
void mam_bins_lose(struct mam_bins *bins, uint64_t granules);

/*
 * mam_bins_pop - the newest block of a nonempty bin, and its tag, which is still CACHED; 0: it was
 * lost with the bin.
 */
static inline uintptr_t mam_bins_pop(struct mam_bins *bins, uint64_t granules,
				     mam_blocktag_word **tag)
{
	uint64_t head = bins->head[granules], value;
	uintptr_t block = (uintptr_t)(head >> MAM_BINS_HEAD_SHIFT) << MAM_BLOCKTAG_SHIFT;
	mam_blocktag_word *place = mam_blocktag_known(block, granules);

	value = mam_blocktag_read(place);
	if ((value & MAM_BLOCKTAG_CACHED_MASK) != (bins->key | granules << 3)) {
		mam_bins_lose(bins, granules);
		return 0;
	}
	if ((head & MAM_BINS_HEAD_COUNT) == 1) {
		bins->head[granules] = 0;
		bins->used[granules / 64] &= ~(UINT64_C(1) << granules % 64);
		if (bins->used[granules / 64] == 0)
			bins->summary &= ~(UINT64_C(1) << granules / 64);
	} else {
		bins->head[granules] = mam_blocktag_next(value) << MAM_BINS_HEAD_SHIFT |
				       ((head & MAM_BINS_HEAD_COUNT) - 1);
	}
	bins->octave[mam_bins_octave(granules)] -= granules;
	bins->granules -= granules;
	bins->blocks--;
	*tag = place;
	return block;
}

/*
 * mam_bins_evict - remove up to `count` blocks of the octave of sizes that contains most bytes, so
 * that no size displaces the others. Their tags are set to 0. Returns their number; 0: the bins are
 * empty.
 */
size_t mam_bins_evict(struct mam_bins *bins, void **blocks, size_t count);

/* mam_bins_fullest - the octave that mam_bins_evict() would choose. */
unsigned mam_bins_fullest(const struct mam_bins *bins);

/* mam_bins_pack - move blocks of an octave into a batch, one of each size in turn; false: none. */
bool mam_bins_pack(struct mam_bins *bins, unsigned octave, struct mam_batch *batch);

/* mam_bins_unpack - move a batch into bins; blocks that a double free removed are lost. */
void mam_bins_unpack(struct mam_bins *bins, unsigned octave, const struct mam_batch *batch);

/*
 * mam_batch_end - remove the tags of its blocks. Returns the number of blocks; if it is less than
 * the batch's count, the others are lost.
 */
size_t mam_batch_end(const struct mam_batch *batch, unsigned octave,
		     void *blocks[MAM_BATCH_BLOCKS]);
const char *mam_batch_check(const struct mam_batch *batch, unsigned octave);

/* mam_bins_check - counts and bits match the stacks. NULL or one sentence. */
const char *mam_bins_check(const struct mam_bins *bins);

#endif
