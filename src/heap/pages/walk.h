/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk.h - the search state of a lane: a position in the bitmap, a random generator and a count of
 * looks, all in the caller's registers.
 *
 * 1. The start is the warp's number times the golden section of the range, so that warps of one
 *    launch start as far from each other as their number allows. A random step of at most a warp's
 *    share is added, so that two launches do not start at the same positions.
 * 2. A search that found room continues there with the next request (the clustered walk of Pham et
 *    al., ACM TOPC 2025).
 * 3. A search that found none jumps to a random position.
 * 4. The state also records whether a warp claims before it looks. At first it does if the launch
 *    has many warps; later, if each lane got exactly the bit that it would have claimed blindly.
 *
 * `steps` counts looks: at a word by one lane, at a region by a warp.
 */
#ifndef MAM_HEAP_PAGES_WALK_H
#define MAM_HEAP_PAGES_WALK_H

#include "heap/pages/bitmap.h"

struct mam_kwalk {
	uint32_t place; /* the page of the next look */
	uint32_t state; /* the generator's */
	uint32_t steps; /* looks so far */
	uint32_t blind; /* whether a warp claims before it looks, as it does where most pages are
			   free */
};

/* The result of a search: values, not pointers, so that a caller's state stays in registers. */
struct mam_kfound {
	uint32_t page; /* or MAM_NO_PAGE */
	struct mam_kwalk walk;
};

/* A launch of fewer warps than 1 << this counts as small. */
#define MAM_WALK_FEW_SHIFT 10

#define MAM_WALK_GOLDEN 0x9e3779b9u

MAM_KFN uint32_t mam_walk_mix(uint32_t x)
{
	x ^= x >> 16;
	x *= 0x7feb352du;
	x ^= x >> 15;
	x *= 0x846ca68bu;
	return x ^ x >> 16;
}

MAM_KFN uint32_t mam_walk_random(struct mam_kwalk *walk)
{
	walk->state = walk->state * 747796405u + 2891336453u;
	return walk->state;
}

/* The position that is `fraction` of the way through the heap. */
MAM_KFN uint32_t mam_walk_place(MAM_GLOBAL struct mam_pages *pages, uint32_t fraction)
{
	return (uint32_t)((uint64_t)fraction * pages->words >> 26);
}

/* The position after an allocated page. */
MAM_KFN uint32_t mam_walk_behind(MAM_GLOBAL struct mam_pages *pages, uint32_t page)
{
	return page + 1 < pages->words * 64 ? page + 1 : 0;
}

MAM_KFN void mam_walk_jump(struct mam_kwalk *walk, MAM_GLOBAL struct mam_pages *pages)
{
	walk->place = mam_walk_place(pages, mam_walk_random(walk));
}

MAM_KFN void mam_kwalk_start(struct mam_kwalk *walk, MAM_GLOBAL struct mam_pages *pages)
{
	uint32_t per_block = (mam_block_threads() + 31) / 32;
	uint32_t warp = mam_block() * per_block + mam_thread() / 32;
	uint32_t share = 64 - mam_clz64(mam_grid_blocks() * per_block);
	uint32_t noise = mam_walk_mix((uint32_t)mam_clock() ^ mam_smid() << 20);

	walk->state = noise + mam_thread() * MAM_WALK_GOLDEN;
	walk->steps = 0;
	/*
	 * In a small launch round trips dominate: look, then claim. Many warps save round trips
	 * instead.
	 */
	walk->blind = share > MAM_WALK_FEW_SHIFT;
	walk->place = mam_walk_place(pages, warp * MAM_WALK_GOLDEN + mam_lane() * 0x85ebca6bu +
						    (share < 32 ? noise >> share : 0));
}

#endif
