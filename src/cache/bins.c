/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bins.c - the rare operations of bins.h: choose blocks to evict, and check for errors.
 *
 * The eviction policy was found by running the benchmark's workload "threads" (100 live blocks, 256
 * B to 1 MiB, uniform in the logarithm) with 8 MiB of bins, where a block may be larger than the
 * request by up to a quarter: share of operations that found no block, and that had to evict
 *   half of each bin in turn                     11.8%  0.9%
 *   the same, bins used since the last turn last  9.0%  0.8%
 *   the largest first                             8.2%  1.7%
 *   from the octave that contains most bytes      5.2%  1.1%   <- this
 */
#include "cache/bins.h"

/* Tag bits that identify a block of a batch: thread cache number 0, and the state. */
#define MAM_BATCH_MASK (UINT64_C(0x3ff) << 54 | 3)

static void empty(struct mam_bins *bins, uint64_t granules)
{
	bins->head[granules] = 0;
	bins->used[granules / 64] &= ~(UINT64_C(1) << granules % 64);
	if (bins->used[granules / 64] == 0)
		bins->summary &= ~(UINT64_C(1) << granules / 64);
}

void mam_bins_lose(struct mam_bins *bins, uint64_t granules)
{
	uint64_t count = bins->head[granules] & MAM_BINS_HEAD_COUNT;

	bins->lost += count;
	bins->blocks -= count;
	bins->granules -= count * granules;
	bins->octave[mam_bins_octave(granules)] -= count * granules;
	empty(bins, granules);
}

unsigned mam_bins_fullest(const struct mam_bins *bins)
{
	unsigned best = 0;

	for (unsigned octave = 1; octave < MAM_BINS_OCTAVES; octave++)
		if (bins->octave[octave] > bins->octave[best])
			best = octave;
	return best;
}

/* Returns each bin in turn, the smallest first. `bin`: the previous one; 0: none. */
static uint64_t next_bin(const struct mam_bins *bins, uint64_t min, uint64_t max, uint64_t bin)
{
	uint64_t next = bin != 0 && bin < max ? mam_bins_best(bins, bin + 1, max) : 0;

	return next != 0 ? next : mam_bins_best(bins, min, max);
}

/*
 * The next block of an octave, after one of bin *bin; 0: there is none. Skips blocks that were
 * lost.
 */
static uintptr_t pop_of_octave(struct mam_bins *bins, unsigned octave, uint64_t *bin,
			       mam_blocktag_word **tag)
{
	uint64_t min = UINT64_C(1) << octave, max = 2 * min - 1;
	uintptr_t block = 0;

	if (max > MAM_BLOCKTAG_MAX)
		max = MAM_BLOCKTAG_MAX;
	while (block == 0 && (*bin = next_bin(bins, min, max, *bin)) != 0)
		block = mam_bins_pop(bins, *bin, tag);
	return block;
}

static size_t give_up(struct mam_bins *bins, void **blocks, size_t count)
{
	unsigned octave = mam_bins_fullest(bins);
	uint64_t bin = 0;
	size_t got = 0;

	while (got < count) {
		mam_blocktag_word *tag;
		uintptr_t block = pop_of_octave(bins, octave, &bin, &tag);

		if (block == 0)
			break;
		mam_blocktag_write(tag, MAM_BLOCKTAG_NONE);
		blocks[got++] = (void *)block;
	}
	return got;
}

size_t mam_bins_evict(struct mam_bins *bins, void **blocks, size_t count)
{
	size_t got = give_up(bins, blocks, count);

	/* A double free may have emptied the octave, but not all bins. */
	while (got == 0 && bins->blocks != 0)
		got = give_up(bins, blocks, count);
	return got;
}

bool mam_bins_pack(struct mam_bins *bins, unsigned octave, struct mam_batch *batch)
{
	const uint64_t key = mam_blocktag_cached_key(0);
	uint64_t bin = 0;

	*batch = (struct mam_batch){ .blocks = 0 };
	while (batch->blocks < MAM_BATCH_BLOCKS && batch->granules < MAM_BATCH_GRANULES) {
		mam_blocktag_word *tag;
		uintptr_t block = pop_of_octave(bins, octave, &bin, &tag);

		if (block == 0)
			break;
		mam_blocktag_write(tag, mam_blocktag_cached(key, bin, batch->first));
		batch->first = (uint64_t)(block >> MAM_BLOCKTAG_SHIFT);
		batch->blocks++;
		batch->granules += (uint32_t)bin;
	}
	return batch->blocks != 0;
}

/* The tag of a batch's block, and its value; NULL: the block was freed a second time. */
static mam_blocktag_word *packed(uintptr_t block, unsigned octave, uint64_t *value)
{
	mam_blocktag_word *tag = mam_blocktag_find(block, UINT64_C(1) << octave);
	uint64_t granules;

	*value = tag ? mam_blocktag_read(tag) : MAM_BLOCKTAG_NONE;
	granules = mam_blocktag_granules(*value);
	return (*value & MAM_BATCH_MASK) == mam_blocktag_cached_key(0) && granules != 0 &&
			       mam_bins_octave(granules) == octave
		       ? tag
		       : NULL;
}

void mam_bins_unpack(struct mam_bins *bins, unsigned octave, const struct mam_batch *batch)
{
	uint64_t next = batch->first;

	for (uint32_t left = batch->blocks; left != 0; left--) {
		uintptr_t block = (uintptr_t)next << MAM_BLOCKTAG_SHIFT;
		uint64_t value;
		mam_blocktag_word *tag = packed(block, octave, &value);

		if (!tag) {
			bins->lost += left;
			return;
		}
		next = mam_blocktag_next(value);
		mam_bins_push(bins, block, tag, mam_blocktag_granules(value));
	}
}

size_t mam_batch_end(const struct mam_batch *batch, unsigned octave, void *blocks[MAM_BATCH_BLOCKS])
{
	uint64_t next = batch->first;
	size_t got = 0;

	while (got < batch->blocks) {
		uintptr_t block = (uintptr_t)next << MAM_BLOCKTAG_SHIFT;
		uint64_t value;
		mam_blocktag_word *tag = packed(block, octave, &value);

		if (!tag)
			break;
		next = mam_blocktag_next(value);
		mam_blocktag_write(tag, MAM_BLOCKTAG_NONE);
		blocks[got++] = (void *)block;
	}
	return got;
}

const char *mam_batch_check(const struct mam_batch *batch, unsigned octave)
{
	uint64_t next = batch->first, granules = 0;

	for (uint32_t left = batch->blocks; left != 0; left--) {
		uint64_t value;

		if (!packed((uintptr_t)next << MAM_BLOCKTAG_SHIFT, octave, &value))
			return "a block in the transfer cache has no tag of the transfer cache";
		granules += mam_blocktag_granules(value);
		next = mam_blocktag_next(value);
	}
	return granules == batch->granules ? NULL : "a batch's count does not match its blocks";
}

const char *mam_bins_check(const struct mam_bins *bins)
{
	uint64_t blocks = 0, granules = 0, octaves = 0;

	for (uint64_t bin = 1; bin < MAM_BINS_COUNT; bin++) {
		uint64_t count = bins->head[bin] & MAM_BINS_HEAD_COUNT;
		uintptr_t block = (uintptr_t)(bins->head[bin] >> MAM_BINS_HEAD_SHIFT)
				  << MAM_BLOCKTAG_SHIFT;
		bool used = bins->used[bin / 64] >> bin % 64 & 1;

		if (used != (count != 0))
			return "the bit of a bin does not match its count";
		if (used && !(bins->summary >> bin / 64 & 1))
			return "a bin is missing from the summary";
		blocks += count;
		granules += count * bin;
		for (; count != 0; count--) {
			uint64_t tag = mam_blocktag_of(block, bin);

			if ((tag & MAM_BLOCKTAG_CACHED_MASK) != (bins->key | bin << 3))
				return "a block in a bin has no tag of the bin";
			block = (uintptr_t)mam_blocktag_next(tag) << MAM_BLOCKTAG_SHIFT;
		}
	}
	for (unsigned octave = 0; octave < MAM_BINS_OCTAVES; octave++)
		octaves += bins->octave[octave];
	if (blocks != bins->blocks || granules != bins->granules || granules != octaves)
		return "a thread cache's counts do not match its bins";
	return NULL;
}
