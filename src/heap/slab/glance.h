/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glance.h - where a lane looks before it searches: one place, without collectives, and without
 * state in memory. Most requests that are not served at home end here.
 *
 * Lanes that want different classes have no home:
 * 1. Those whose objects fit runs of 2 to 8 units cut them from whole blocks (cut.h); this is before
 *    the function here, as it needs the whole warp.
 * 2. A lane whose object a run fits well (few.h) looks for one, twice.
 * 3. Others look at four words of their class's row (find.h), all at once. Each takes the free slot of
 *    its rank among the lanes of its class, so that they do not meet, in the first word that has one.
 *
 * Lanes of one class:
 * 4. If none of them won at home, one lane opens the groups of the home that are free, for a full warp
 *    those of the whole slab. While another warp opens them, it looks again a few times.
 * 5. Lanes of a full warp, or of one in which some won a slot at home, look where the class was seen
 *    (find.h), several times, as the search would take longer. A few lanes look as in 3: neighboring
 *    warps fill the same word.
 *
 * A lane that finds nothing goes on with all others to the search (search.h).
 *
 * Bound: MAM_GLANCE_TRIES round trips at home, and four more to open it; two for each of
 * MAM_GLANCE_LOOKS looks; and one for each claim that is lost, at most MAM_FIND_TRIES.
 */
#ifndef MAM_HEAP_SLAB_GLANCE_H
#define MAM_HEAP_SLAB_GLANCE_H

#include "heap/slab/cut.h"

#define MAM_GLANCE_WIDTH 4u   /* words of a row */
#define MAM_GLANCE_RUNS 2u    /* looks for a run */
#define MAM_GLANCE_LOOKS 4u   /* where the class was seen */
#define MAM_GLANCE_TRIES 8u   /* looks at a home that another thread opens */
#define MAM_GLANCE_MIXED 256u /* added to the rank: lanes want different classes */
#define MAM_GLANCE_WON 512u   /* likewise: some lanes won at home */

/* Claims one of the slots that are free in `seen`: that of this rank, counted from bit `from`. */
MAM_KFN uint64_t mam_glance_claim(uint64_t *word, uint64_t seen, uint32_t rank, uint32_t from)
{
	uint64_t left, one = 0;
	uint32_t tries;

	MAM_ROLLED
	for (tries = 0; tries < MAM_FIND_TRIES && seen; tries++) {
		left = mam_bits_rotate_right(seen, from);
		MAM_ROLLED
		for (; rank && left; rank--)
			left &= left - 1;
		left = left ? left : mam_bits_rotate_right(seen, from);
		one = mam_bits_rotate_left(left & (~left + 1), from);
		seen = mam_slots_claim(word, 0, one);
		if (seen & one)
			return one;
	}
	return 0;
}

/* Step 3. Returns the object or NULL. */
MAM_KFN void *mam_glance_row(const struct mam_kheap *heap, uint32_t class_, uint32_t rank)
{
	uint64_t traits = mam_traits_of(class_), *words = mam_traits_words(heap, traits), one;
	uint32_t word[MAM_GLANCE_WIDTH], i;
	uint64_t seen[MAM_GLANCE_WIDTH];

	for (i = 0; i < MAM_GLANCE_WIDTH; i++)
		word[i] = mam_atomic_load32(mam_find_shared(heap, class_, mam_handle_warp() ^ i),
					    MAM_RELAXED, MAM_AT_DEVICE);
	for (i = 0; i < MAM_GLANCE_WIDTH; i++) {
		word[i] = (word[i] & ~MAM_SHARED_BUSY) - 1;
		seen[i] = word[i] != MAM_NO_WORD ? mam_slots_load(words, word[i]) : 0;
	}
	/* The first one with room for all lanes of the class up to this one, or for any. */
	for (i = 1; i < MAM_GLANCE_WIDTH; i++)
		if (mam_popc64(seen[0]) <= rank && mam_popc64(seen[i]) > mam_popc64(seen[0])) {
			seen[0] = seen[i];
			word[0] = word[i];
		}
	if (!seen[0])
		return NULL;
	one = mam_glance_claim(&words[word[0]], seen[0], rank, mam_handle_warp() * 8 % 64);
	return one ? mam_traits_at(heap, traits, word[0], mam_ffs64(one) - 1) : NULL;
}

/* Step 5. */
MAM_KFN void *mam_glance_seen(const struct mam_kheap *heap, uint32_t class_)
{
	struct mam_kfind found;
	uint32_t looks;

	MAM_ROLLED
	for (looks = 0; looks < MAM_GLANCE_LOOKS; looks++) {
		found = mam_find_seen(heap, mam_find_need(class_, 1, 0, 0), mam_find_random(looks));
		if (found.won)
			return mam_traits_at(heap, mam_traits_of(class_), found.word,
					     mam_ffs64(found.won) - 1);
	}
	return NULL;
}

/*
 * Step 4, by one lane for those that share a word: opens their home if its units are free, and no
 * thread has opened it. As long as another thread opens it, it is tried again. Returns the slots that
 * it wins there.
 */
MAM_KSLOW uint64_t mam_glance_home(const struct mam_kheap *heap, uint32_t need)
{
	uint64_t traits = mam_traits_of(mam_find_class(need)), *words, own, slots, seen, taken;
	uint32_t word = mam_find_home(heap, need, 0, &own), block, tries, owner;
	struct mam_kgroups groups;

	if (word >= heap->blocks << mam_traits_words_shift(traits))
		return 0;
	words = mam_traits_words(heap, traits);
	block = mam_slab_block(traits, word);
	own = mam_slots_lowest(own, mam_find_n(need));
	slots = mam_find_lanes(need) < MAM_FIND_FULL ? own : mam_slots_all(traits);
	MAM_ROLLED
	for (tries = 0; tries < MAM_GLANCE_TRIES; tries++) {
		/* In one round trip. */
		owner = mam_slab_owner(heap, traits, word, mam_ffs64(own) - 1);
		seen = mam_slots_load(words, word) & own;
		taken = mam_bitmap_load(mam_pages_bits(heap->units), block);
		if (seen) {
			seen = mam_slots_claim(words, word, seen) & seen;
			if (seen)
				return seen;
		}
		if (owner && owner != mam_find_class(need) + MAM_OWNER_MOVING)
			return 0;
		if (owner)
			continue;
		groups = mam_slab_claim(heap, traits, word, slots, taken);
		if (groups.slots)
			mam_slab_publish(heap, mam_find_class(need), traits, word, groups.units,
					 groups.slots & ~own);
		if (groups.slots & own)
			return groups.slots & own;
	}
	return 0;
}

/*
 * Steps 2 to 5. `rank`: the lane's among those that want its class, plus 65,536 times the number of
 * lanes, plus the flags above. Returns the object, or NULL.
 */
MAM_KSLOW void *mam_glance(const struct mam_kheap *heap, uint32_t class_, uint32_t rank)
{
	void *object = NULL;
	uint32_t tries;

	if (rank & MAM_GLANCE_MIXED && mam_few_suits(mam_traits_of(class_))) {
		MAM_ROLLED
		for (tries = 0; tries < MAM_GLANCE_RUNS && !object; tries++)
			object = mam_few_take(heap, class_, mam_find_random(tries));
		return object;
	}
	if (!(rank & MAM_GLANCE_MIXED) && (rank & MAM_GLANCE_WON || rank >> 16 >= MAM_FIND_FULL))
		return mam_glance_seen(heap, class_);
	return mam_glance_row(heap, class_, rank % MAM_GLANCE_MIXED);
}

#endif
