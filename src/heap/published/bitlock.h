/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bitlock.h - the paper's bitmap with its LockMap, under rwbm.h, crw.h and corw.h.
 *
 * A bit a page, 32 to a word, 1 taken; bits past the end are taken for ever. A second bitmap has
 * one bit a word: who sets it by an atomic may take pages from the word; who finds it set does
 * not wait, but treats the word as full.
 *
 * Source: common.h, algorithms 2 and 3. As published, taking under the lock is an ordinary write
 * of the word. Frees come without the lock, so it must be an atomic OR. The OR's answer also says
 * whether another lane was faster, which lets lock and unlock go without orders: the lock keeps
 * lanes apart, it does not decide who owns a page. A free is an atomic AND, for a store would
 * touch the neighbours.
 */
#ifndef MAM_HEAP_PUBLISHED_BITLOCK_H
#define MAM_HEAP_PUBLISHED_BITLOCK_H

#include "heap/published/common.h"

/* Locks in a word of the LockMap. */
#ifndef MAM_BITLOCK_DENSE
#define MAM_BITLOCK_DENSE 32
#endif

struct mam_bitlock {
	uint32_t count; /* pages; never changes, as all of this */
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
	uint32_t words = mam_bitlock_words(count);

	return sizeof(struct mam_bitlock) + mam_published_words_bytes(words) +
	       mam_published_words_bytes((words + MAM_BITLOCK_DENSE - 1) / MAM_BITLOCK_DENSE);
}

MAM_KBOTH void mam_bitlock_format(MAM_GLOBAL struct mam_bitlock *bits, uint32_t count, uint32_t low)
{
	bits->count = count;
	bits->words = mam_bitlock_words(count);
	bits->bound = mam_published_bound(count, low);
	if (count % 32)
		((MAM_GLOBAL uint32_t *)(bits + 1))[count / 32] = ~0u << count % 32;
}

#ifndef MAM_HEAP_PORT_HOST_H

MAM_KFN MAM_GLOBAL uint32_t *mam_bitlock_word(MAM_GLOBAL struct mam_bitlock *bits, uint32_t word)
{
	return (MAM_GLOBAL uint32_t *)(bits + 1) + word;
}

/* The LockMap's word for the bitmap's `word`: behind the bitmap, from a new line on. */
MAM_KFN MAM_GLOBAL uint32_t *mam_bitlock_lock(MAM_GLOBAL struct mam_bitlock *bits, uint32_t word)
{
	uint32_t line = MAM_PUBLISHED_LINE / 4;

	return mam_bitlock_word(bits,
				(bits->words + line - 1) / line * line + word / MAM_BITLOCK_DENSE);
}

/*
 * The word's free pages if the caller has it locked now, none if another lane has. The word is read
 * at the same time as it is locked: what was read too early the claim finds out.
 */
MAM_KFN uint32_t mam_bitlock_enter(MAM_GLOBAL struct mam_bitlock *bits, uint32_t word, bool *locked)
{
	uint32_t bit = 1u << word % MAM_BITLOCK_DENSE, taken, before;

	taken = mam_atomic_load32(mam_bitlock_word(bits, word), MAM_RELAXED, MAM_AT_DEVICE);
	before = mam_atomic_or32(mam_bitlock_lock(bits, word), bit, MAM_RELAXED, MAM_AT_DEVICE);
	*locked = !(before & bit);
	return *locked ? ~taken : 0;
}

/* Takes `pages` of a word; gives those that were taken by others before. */
MAM_KFN uint32_t mam_bitlock_claim(MAM_GLOBAL struct mam_bitlock *bits, uint32_t word,
				   uint32_t pages)
{
	return pages &
	       mam_atomic_or32(mam_bitlock_word(bits, word), pages, MAM_ACQUIRE, MAM_AT_DEVICE);
}

MAM_KFN void mam_bitlock_leave(MAM_GLOBAL struct mam_bitlock *bits, uint32_t word)
{
	(void)mam_atomic_and32(mam_bitlock_lock(bits, word), ~(1u << word % MAM_BITLOCK_DENSE),
			       MAM_RELAXED, MAM_AT_DEVICE);
}

/* One look at one word: its lowest free page, or MAM_NO_PAGE. */
MAM_KFN uint32_t mam_bitlock_probe(MAM_GLOBAL struct mam_bitlock *bits, uint32_t word)
{
	bool locked;
	uint32_t free = mam_bitlock_enter(bits, word, &locked), page = MAM_NO_PAGE;

	if (free) {
		uint32_t bit = mam_ffs32(free) - 1;

		if (!mam_bitlock_claim(bits, word, 1u << bit))
			page = word * 32 + bit;
	}
	if (locked)
		mam_bitlock_leave(bits, word);
	return page;
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
	(void)mam_atomic_and32(mam_bitlock_word(bits, page / 32), ~(1u << page % 32),
			       MAM_PUBLISHED_GIVE, MAM_AT_DEVICE);
	return true;
}

#endif
#endif
