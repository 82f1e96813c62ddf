/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common.h - the shared parts of the random-walk paper's page allocators: the state of a lane, its
 * random numbers, when it gives up, and the paper's way to find the k-th set bit.
 *
 * Source: M. Pham, Y. Yuan, H. Li, C. Mou, Y. Tu, Z. Xu, J. Meng, "Dynamic Buffer Management in
 * Massively Parallel Systems: The Power of Randomness", ACM TOPC 12(1), 2025: RW (algorithm 1),
 * RW-BM (2), CoRW (3), find-k-th-set (4), CRW (5), RW_malloc (6). They are implemented as
 * published, for comparison; each file notes what the published sketch leaves open, or gets wrong.
 *
 * All of them have the same interface. NAME is rw, rwbm, crw, corw, rwmalloc, queue, bump or bumpw.
 *
 *   size_t mam_NAME_bytes(count)                the size for `count` pages
 *   void mam_NAME_format(s, count, low)         host or one lane, into zeroed memory of that size
 *   uint32_t mam_NAME_take(s, walk)             a page, or MAM_NO_PAGE
 *   bool mam_NAME_give(s, page)                 false if there is no such page; nothing changes
 *
 * A double free is not detected: the paper's frees check nothing. `low` is the paper's L in
 * thousandths: a search gives up if fewer than L of the pages are free, with 99% confidence.
 *
 * Orders: in each variant one atomic decides who owns a page. It acquires, and a free releases, so
 * that the writes of the last owner precede those of the next. The paper does not mention orders;
 * MAM_PUBLISHED_GIVE=MAM_RELAXED builds the frees without.
 */
#ifndef MAM_BENCH_PAPERS_WALK_COMMON_H
#define MAM_BENCH_PAPERS_WALK_COMMON_H

#include "heap/pages/layout.h"

#ifndef MAM_PUBLISHED_GIVE
#define MAM_PUBLISHED_GIVE MAM_RELEASE
#endif

/* A header of constant fields fills a cache line; flags or words follow it. */
#define MAM_PUBLISHED_LINE 128u

/*
 * The number of consecutive failed steps after which fewer than `low` thousandths are free; 0 for a
 * heap of 0 pages.
 */
MAM_KBOTH uint32_t mam_published_bound(uint32_t count, uint32_t low)
{
	uint32_t patience = mam_layout_patience(low);

	return count ? patience + !patience : 0;
}

/* 32 bits per word, whole cache lines. */
MAM_KBOTH size_t mam_published_words_bytes(size_t words)
{
	return (words * 4 + MAM_PUBLISHED_LINE - 1) & ~(size_t)(MAM_PUBLISHED_LINE - 1);
}

/* The state of a lane between calls, in registers. */
struct mam_published_walk {
	uint32_t state; /* of its random numbers */
	uint32_t last;  /* the page that it allocated last, or MAM_NO_PAGE: for crw */
	uint32_t steps; /* places looked at, as the paper counts them, in all calls */
};

#ifndef MAM_DEVICE_PORT_HOST_H

/*
 * Returns `where` as a sum that a compiler cannot prove to be the same in all lanes: otherwise it
 * combines an add into one atomic per warp. `zeros` are 16 words of 0.
 */
MAM_KFN MAM_GLOBAL uint64_t *mam_published_hidden(MAM_GLOBAL uint64_t *where,
						  const MAM_GLOBAL uint32_t *zeros)
{
	return where + zeros[mam_lane() % 16];
}

/* Spreads differences in a few bits over all bits (the last steps of MurmurHash3, A. Appleby). */
MAM_KFN uint32_t mam_published_mix(uint32_t x)
{
	x = (x ^ x >> 16) * 0x85ebca6bu;
	x = (x ^ x >> 13) * 0xc2b2ae35u;
	return x ^ x >> 16;
}

/* `seed` distinguishes launches; lanes differ by their number in the grid. */
MAM_KFN void mam_published_start(struct mam_published_walk *walk, uint32_t seed)
{
	uint32_t id = mam_block() * mam_block_threads() + mam_thread();

	walk->state = mam_published_mix(id + mam_published_mix(seed + 0x9e3779b9u));
	walk->last = MAM_NO_PAGE;
	walk->steps = 0;
}

/*
 * M. O'Neill, "PCG: a family of simple fast space-efficient statistically good algorithms", 2014.
 */
MAM_KFN uint32_t mam_published_random(struct mam_published_walk *walk)
{
	uint32_t x = walk->state;

	walk->state = x * 747796405u + 2891336453u;
	x = ((x >> ((x >> 28) + 4)) ^ x) * 277803737u;
	return x >> 22 ^ x;
}

MAM_KFN uint32_t mam_published_below(struct mam_published_walk *walk, uint32_t limit)
{
	return (uint32_t)((uint64_t)mam_published_random(walk) * limit >> 32);
}

/* The position of the k-th set bit of `x`, from 1; 0 if it has fewer: bisection by counts. */
MAM_KFN uint32_t mam_published_kth(uint32_t x, uint32_t k)
{
	uint32_t left = 1, right = 32;

	if (mam_popc32(x) < k || k == 0)
		return 0;
	while (left < right) {
		uint32_t middle = (left + right) / 2;

		if (mam_popc32(x & ((1u << middle) - 1)) < k)
			left = middle + 1;
		else
			right = middle;
	}
	return left;
}

#endif
#endif
