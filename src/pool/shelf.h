/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shelf.h - all holes of a pool by size: bins for the small ones, trees for the rest.
 *
 * A request asks the bins if it is small, and the trees if no bin had anything: what a bin has is
 * smaller than anything in a tree, so the answer is best fit over all.
 *
 * Bound: O(1) for small sizes, O(log s) in distinct sizes for the rest. Memory: one page. lock:
 * pool.
 *
 * What holds between calls: each free segment but the tail is in the bin of its size, or in a tree
 * when no bin takes it.
 */
#ifndef MAM_POOL_SHELF_H
#define MAM_POOL_SHELF_H

#include "pool/sizebins.h"
#include "pool/sizeforest.h"

struct mam_shelf {
	struct mam_sizebins bins;
	struct mam_sizeforest forest;
	void *page; /* what the bins and roots of both are in */
};

enum mam_status mam_shelf_init(struct mam_shelf *shelf, size_t granule);
void mam_shelf_fini(struct mam_shelf *shelf);

static inline void mam_shelf_insert(struct mam_shelf *shelf, const struct mam_records *segments,
				    uint32_t handle)
{
	if (mam_sizebins_take_size(&shelf->bins, mam_segment_at(segments, handle)->bytes))
		mam_sizebins_insert(&shelf->bins, segments, handle);
	else
		mam_sizeforest_insert(&shelf->forest, segments, handle);
}

static inline void mam_shelf_remove(struct mam_shelf *shelf, const struct mam_records *segments,
				    uint32_t handle)
{
	if (mam_sizebins_take_size(&shelf->bins, mam_segment_at(segments, handle)->bytes))
		mam_sizebins_remove(&shelf->bins, segments, handle);
	else
		mam_sizeforest_remove(&shelf->forest, segments, handle);
}

/* mam_shelf_best - one of the smallest holes of at least `bytes`; 0 if there is none. */
static inline uint32_t mam_shelf_best(const struct mam_shelf *shelf,
				      const struct mam_records *segments, uint64_t bytes)
{
	uint32_t best = 0;

	if (mam_sizebins_take_size(&shelf->bins, bytes))
		best = mam_sizebins_best(&shelf->bins, bytes);
	return best != 0 ? best : mam_sizeforest_best(&shelf->forest, segments, bytes);
}

/*
 * mam_shelf_best_aligned - the same among holes that hold `bytes` at a multiple of `alignment`. As
 * cheap as best where a hole of bytes + alignment exists or one of the first few fits; otherwise it
 * looks at every hole that might before it says 0.
 */
uint32_t mam_shelf_best_aligned(const struct mam_shelf *shelf, const struct mam_records *segments,
				uint64_t bytes, uint64_t alignment);

/* mam_shelf_below - one of the largest under `bytes`; 0 if there is none. */
uint32_t mam_shelf_below(const struct mam_shelf *shelf, const struct mam_records *segments,
			 uint64_t bytes);

/* mam_shelf_largest - one of the largest; 0 if there is none. */
uint32_t mam_shelf_largest(const struct mam_shelf *shelf, const struct mam_records *segments);

/*
 * mam_shelf_largest_inner - the same without those that end their chunk: it passes over at most one
 * a chunk.
 */
uint32_t mam_shelf_largest_inner(const struct mam_shelf *shelf, const struct mam_records *segments);

/* mam_shelf_check - NULL and the number of holes, or one sentence. */
const char *mam_shelf_check(const struct mam_shelf *shelf, const struct mam_records *segments,
			    uint64_t *count);

#endif
