/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bins.c - what is rare in bins.h: choosing what to give up, and looking for faults.
 *
 * What to give up was found by playing the bench's workload "threads" (100 live blocks, 256 B to 1
 * MiB, uniform in the logarithm) against 8 MiB of bins, sizes served from up to a quarter above:
 * share of operations that found nothing, and that had to give something up
 *   half of each bin in turn                     11.8%  0.9%
 *   the same, bins used since the last turn last  9.0%  0.8%
 *   the largest first                             8.2%  1.7%
 *   from the octave that holds most bytes         5.2%  1.1%   <- this
 */
#include "cache/bins.h"

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

/* The octave that holds most granules. */
static unsigned fullest(const struct mam_bins *bins)
{
	unsigned best = 0;

	for (unsigned octave = 1; octave < MAM_BINS_OCTAVES; octave++)
		if (bins->octave[octave] > bins->octave[best])
			best = octave;
	return best;
}

/* One of each size in turn, the smallest first. `bin`: the one before; 0: none. */
static uint64_t next_bin(const struct mam_bins *bins, uint64_t least, uint64_t most, uint64_t bin)
{
	uint64_t next = bin != 0 && bin < most ? mam_bins_best(bins, bin + 1, most) : 0;

	return next != 0 ? next : mam_bins_best(bins, least, most);
}

/* Out of one octave: into `to`, or into `blocks` where that is NULL. */
static size_t give_up(struct mam_bins *bins, struct mam_bins *to, void **blocks, size_t count)
{
	uint64_t least = UINT64_C(1) << fullest(bins), most = 2 * least - 1, bin = 0;
	size_t got = 0;

	if (most > MAM_TAG_MOST)
		most = MAM_TAG_MOST;
	while (got < count) {
		mam_tag_word *tag;
		uintptr_t block;

		bin = next_bin(bins, least, most, bin);
		if (bin == 0)
			break;
		block = mam_bins_pop(bins, bin, &tag);
		if (block == 0)
			continue;
		if (to) {
			mam_bins_push(to, block, tag, bin);
		} else {
			mam_tag_write(tag, MAM_TAG_NONE);
			blocks[got] = (void *)block;
		}
		got++;
	}
	return got;
}

size_t mam_bins_evict(struct mam_bins *bins, void **blocks, size_t count)
{
	size_t got = give_up(bins, NULL, blocks, count);

	/* A fault may have emptied the octave, and not the bins. */
	while (got == 0 && bins->blocks != 0)
		got = give_up(bins, NULL, blocks, count);
	return got;
}

size_t mam_bins_shed(struct mam_bins *from, struct mam_bins *to, size_t count)
{
	return give_up(from, to, NULL, count);
}

size_t mam_bins_move(struct mam_bins *from, struct mam_bins *to, uint64_t least, uint64_t most,
		     size_t count)
{
	size_t moved = 0;
	uint64_t bin;

	while (moved < count && (bin = mam_bins_best(from, least, most)) != 0) {
		mam_tag_word *tag;
		uintptr_t block = mam_bins_pop(from, bin, &tag);

		if (block == 0)
			continue;
		mam_bins_push(to, block, tag, bin);
		moved++;
	}
	return moved;
}

const char *mam_bins_check(const struct mam_bins *bins)
{
	uint64_t blocks = 0, granules = 0, octaves = 0;

	for (uint64_t bin = 1; bin < MAM_BINS_COUNT; bin++) {
		uint64_t count = bins->head[bin] & MAM_BINS_HEAD_COUNT;
		uintptr_t block = (uintptr_t)(bins->head[bin] >> MAM_BINS_HEAD_SHIFT)
				  << MAM_TAG_SHIFT;
		bool used = bins->used[bin / 64] >> bin % 64 & 1;

		if (used != (count != 0))
			return "a cache's bin is empty and says it is not, or the other way round";
		if (used && !(bins->summary >> bin / 64 & 1))
			return "a cache's bin is not in the summary";
		blocks += count;
		granules += count * bin;
		for (; count != 0; count--) {
			uint64_t tag = mam_tag_of(block, bin);

			if ((tag & MAM_TAG_CACHED_MASK) != (bins->key | bin << 3))
				return "a block in a cache's bin is tagged as not being there";
			block = (uintptr_t)mam_tag_next(tag) << MAM_TAG_SHIFT;
		}
	}
	for (unsigned octave = 0; octave < MAM_BINS_OCTAVES; octave++)
		octaves += bins->octave[octave];
	if (blocks != bins->blocks || granules != bins->granules || granules != octaves)
		return "a cache's counts are not those of its bins";
	return NULL;
}
