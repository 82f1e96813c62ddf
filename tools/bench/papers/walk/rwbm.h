/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rwbm.h - RW-BM: random words of a bitmap, 32 pages per look.
 *
 * 1. Pick a random word and set its lock bit. A word that another lane has locked counts as full.
 * 2. Set the word's lowest clear bit: that is the page. If the word is full, unlock, and pick
 *    again.
 *
 * Source: common.h, algorithm 2, with words of 32 bits. Bound: mam_published_bound() steps, then
 * MAM_NO_PAGE, though pages may be left. Between calls no lock bit is set.
 */
#ifndef MAM_BENCH_PAPERS_WALK_RWBM_H
#define MAM_BENCH_PAPERS_WALK_RWBM_H

#include "bench/papers/walk/bitlock.h"

struct mam_rwbm {
	struct mam_bitlock bits;
};

MAM_KBOTH size_t mam_rwbm_bytes(uint32_t count)
{
	return mam_bitlock_bytes(count);
}

MAM_KBOTH void mam_rwbm_format(MAM_GLOBAL struct mam_rwbm *rwbm, uint32_t count, uint32_t low)
{
	mam_bitlock_format(&rwbm->bits, count, low);
}

#ifndef MAM_DEVICE_PORT_HOST_H

MAM_KFN uint32_t mam_rwbm_take(MAM_GLOBAL struct mam_rwbm *rwbm, struct mam_published_walk *walk)
{
	return mam_bitlock_walk(&rwbm->bits, walk);
}

MAM_KFN bool mam_rwbm_give(MAM_GLOBAL struct mam_rwbm *rwbm, uint32_t page)
{
	return mam_bitlock_give(&rwbm->bits, page);
}

#endif
#endif
