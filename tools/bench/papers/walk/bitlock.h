/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bitlock.h - the paper's bitmap with its LockMap, for rwbm.h, crw.h and corw.h.
 *
 * One bit per page, 32 to a word, 1 allocated; bits past the end are always set. Each word has a
 * lock bit. A lane that sets it by an atomic may allocate pages from the word. A lane that finds it
 * set does not wait, but treats the word as full. The lock's holder allocates pages and unlocks. A
 * free is an atomic AND, without the lock, as a store would change neighboring bits.
 *
 * Source: common.h, algorithms 2 and 3. The paper has the lock bits in a bitmap of their own, 32 to
 * a word. Then another lane's look at the bitmap may precede the visibility of this lane's pages,
 * unless lock and unlock are ordered, and the locks of four million pages are 16 KiB, where the
 * atomics of a whole GPU contend. Here a word and its lock bit are the halves of 64 bits: the
 * atomic that locks reads the word too, the one that unlocks claims the pages, and one location
 * needs no orders. CoRW on an H100, for 128K threads at 10% free and for 1M in an empty heap: 18.4
 * and 81 us with packed locks, 14.3 and 47 with a word for each, 13.8 and 32 like this.
 */
#ifndef MAM_BENCH_PAPERS_WALK_BITLOCK_H
#define MAM_BENCH_PAPERS_WALK_BITLOCK_H

#include "bench/papers/walk/common.h"

#define MAM_BITLOCK_LOCKED ((uint64_t)1 << 32)

struct mam_bitlock {
	uint32_t count; /* pages; never changes, as all of this struct */
	uint32_t words; /* of 32 pages */
	uint32_t bound; /* steps */
	uint32_t spare[29];
};

MAM_KBOTH uint32_t mam_bitlock_words(uint32_t count)
{
	return count / 32 + (count % 32 ? 1 : 0);
}

MAM_KBOTH size_t mam_bitlock_bytes(uint32_t count)
{
	return sizeof(struct mam_bitlock) + (size_t)mam_bitlock_words(count) * sizeof(uint64_t);
}

/* Pages in the lower half, 1 allocated; MAM_BITLOCK_LOCKED above them. */
MAM_KBOTH MAM_GLOBAL uint64_t *mam_bitlock_word(MAM_GLOBAL struct mam_bitlock *bits, uint32_t word)
{
	return (MAM_GLOBAL uint64_t *)(bits + 1) + word;
}

MAM_KBOTH void mam_bitlock_format(MAM_GLOBAL struct mam_bitlock *bits, uint32_t count, uint32_t low)
{
	bits->count = count;
	bits->words = mam_bitlock_words(count);
	bits->bound = mam_published_bound(count, low);
	if (count % 32)
		*mam_bitlock_word(bits, count / 32) = (uint32_t)(~0u << count % 32);
}

#ifndef MAM_DEVICE_PORT_HOST_H

/*
 * Returns the word's free pages if the caller has locked it now, none if another lane holds the
 * lock.
 */
MAM_KFN uint32_t mam_bitlock_enter(MAM_GLOBAL struct mam_bitlock *bits, uint32_t word, bool *locked)
{
	uint64_t there = mam_atomic_or64(mam_bitlock_word(bits, word), MAM_BITLOCK_LOCKED,
					 MAM_ACQUIRE, MAM_AT_DEVICE);

	*locked = !(there & MAM_BITLOCK_LOCKED);
	return *locked ? ~(uint32_t)there : 0;
}

/* Allocates `pages`, which were free, and unlocks. pre: the caller holds the lock. */
MAM_KFN void mam_bitlock_leave(MAM_GLOBAL struct mam_bitlock *bits, uint32_t word, uint32_t pages)
{
	(void)mam_atomic_add64(mam_bitlock_word(bits, word), pages - MAM_BITLOCK_LOCKED,
			       MAM_RELAXED, MAM_AT_DEVICE);
}

/* One look at one word: its lowest free page, or MAM_NO_PAGE. */
MAM_KFN uint32_t mam_bitlock_probe(MAM_GLOBAL struct mam_bitlock *bits, uint32_t word)
{
	bool locked;
	uint32_t free = mam_bitlock_enter(bits, word, &locked);

	if (locked)
		mam_bitlock_leave(bits, word, free & (0u - free));
	return free ? word * 32 + mam_ffs32(free) - 1 : MAM_NO_PAGE;
}

/* Looks at random words, until the bound. */
MAM_KFN uint32_t mam_bitlock_walk(MAM_GLOBAL struct mam_bitlock *bits,
				  struct mam_published_walk *walk)
{
	uint32_t tried, page;

	for (tried = 0; tried < bits->bound; tried++) {
		walk->steps++;
		page = mam_bitlock_probe(bits, mam_published_below(walk, bits->words));
		if (page != MAM_NO_PAGE)
			return page;
	}
	return MAM_NO_PAGE;
}

MAM_KFN bool mam_bitlock_give(MAM_GLOBAL struct mam_bitlock *bits, uint32_t page)
{
	if (page >= bits->count)
		return false;
	(void)mam_atomic_and64(mam_bitlock_word(bits, page / 32), ~((uint64_t)1 << page % 32),
			       MAM_PUBLISHED_GIVE, MAM_AT_DEVICE);
	return true;
}

#endif
#endif
