/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rw.h - RW: one flag per page; random pages are tried until one is free.
 *
 * 1. Pick a random page and read its flag; if it is set, pick again.
 * 2. Set the flag by one atomic. A lane that finds it clear then has the page; otherwise pick
 *    again.
 * 3. A free is one plain store to the flag.
 *
 * Source: common.h, algorithm 1. A flag is a 32-bit word: GPUs have no atomics on bytes, and one
 * emulated by a compare-and-swap on the enclosing word would fail because of neighboring flags; and
 * a free may store to a word, but not to a bit. Four bytes per page are 16 MiB for four million,
 * which fits into caches.
 *
 * As published a free is an unordered store, which races with the writes of the next owner: here it
 * releases (MAM_PUBLISHED_GIVE). On an H100 a million frees take 25 us with the release and 23
 * without, 128K by one lane of each warp 23 and 17.
 *
 * Bound: mam_published_bound() steps, then MAM_NO_PAGE, though pages may be left.
 */
#ifndef MAM_BENCH_PAPERS_WALK_RW_H
#define MAM_BENCH_PAPERS_WALK_RW_H

#include "bench/papers/walk/common.h"

struct mam_rw {
	uint32_t count; /* pages; never changes */
	uint32_t bound; /* steps; never changes */
	uint32_t spare[30];
};

MAM_KBOTH size_t mam_rw_bytes(uint32_t count)
{
	return sizeof(struct mam_rw) + mam_published_words_bytes(count);
}

MAM_KBOTH void mam_rw_format(MAM_GLOBAL struct mam_rw *rw, uint32_t count, uint32_t low)
{
	rw->count = count;
	rw->bound = mam_published_bound(count, low);
}

#ifndef MAM_DEVICE_PORT_HOST_H

/* 0: free. */
MAM_KFN MAM_GLOBAL uint32_t *mam_rw_flag(MAM_GLOBAL struct mam_rw *rw, uint32_t page)
{
	return (MAM_GLOBAL uint32_t *)(rw + 1) + page;
}

MAM_KFN uint32_t mam_rw_take(MAM_GLOBAL struct mam_rw *rw, struct mam_published_walk *walk)
{
	uint32_t tried;

	for (tried = 0; tried < rw->bound; tried++) {
		uint32_t page = mam_published_below(walk, rw->count);
		MAM_GLOBAL uint32_t *flag = mam_rw_flag(rw, page);

		walk->steps++;
		if (mam_atomic_load32(flag, MAM_RELAXED, MAM_AT_DEVICE) == 0 &&
		    mam_atomic_xchg32(flag, 1, MAM_ACQUIRE, MAM_AT_DEVICE) == 0)
			return page;
	}
	return MAM_NO_PAGE;
}

MAM_KFN bool mam_rw_give(MAM_GLOBAL struct mam_rw *rw, uint32_t page)
{
	if (page >= rw->count)
		return false;
	mam_atomic_store32(mam_rw_flag(rw, page), 0, MAM_PUBLISHED_GIVE, MAM_AT_DEVICE);
	return true;
}

#endif
#endif
