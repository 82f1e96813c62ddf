/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.h - finds room for the requests of lanes that are active together: the claim at home,
 * which serves most requests, followed by one function that does everything else.
 *
 * 1. Claim: the lanes' home is tried blindly (handle.h).
 * 2. Open: if no lane got a slot, the slab at home is opened if its units are free, and claimed.
 * 3. Search: slots by seek.h, runs by spans.h. A heap that grows has a function of its own for 2
 *    and 3: roam.h.
 *
 * Must hold: all code with collectives below mam_search() is inlined into it (seek.h explains why).
 */
#ifndef MAM_HEAP_SLAB_SEARCH_H
#define MAM_HEAP_SLAB_SEARCH_H

#include "heap/slab/spans.h"

#define MAM_RECLAIM_TRIES 4

/* Returns whether this code can allocate objects from this heap. */
MAM_KFN bool mam_search_serves(const struct mam_kheap *heap)
{
	return heap->layout == MAM_HEAP_LAYOUT && heap->blocks;
}

/* Counts a call for objects on another kind of heap, if it is at least a page heap. */
MAM_KSLOW void mam_search_wrong(const struct mam_kheap *heap)
{
	if (heap->layout == MAM_HEAP_LAYOUT && heap->pages)
		mam_tally_add((struct mam_pages *)(heap + 1), MAM_TALLY_WRONG, 1);
}

/* Step 1 for a lone lane. */
MAM_KFN struct mam_kslot mam_search_claim_lone(const struct mam_kheap *heap, uint64_t traits)
{
	struct mam_kslot mine = mam_handle_home(heap, traits, mam_handle_warp(), 1);
	uint64_t chosen = (uint64_t)1 << mine.slot;

	if (!(mam_slots_claim(mam_traits_words(heap, traits), mine.word, chosen) & chosen))
		mine.slot = MAM_NO_SLOT;
	return mine;
}

/*
 * Step 1 for lanes of one class. A lane is served by the word of its rank. The first of the lanes
 * that share a word claims for them, unless the slots are already claimed: `had`.
 */
MAM_KFN struct mam_kslot mam_search_claim(const struct mam_kheap *heap, uint32_t mask,
					  uint64_t traits, bool had)
{
	uint32_t lanes = mam_popc32(mask), rank = mam_popc32(mask & ((1u << mam_lane()) - 1));
	uint32_t leader = mam_ffs32(mask) - 1, round = 1u << mam_traits_round_shift(traits);
	struct mam_kslot mine = mam_handle_home(heap, traits, mam_handle_warp(), lanes);
	uint32_t lost = ~0u;

	if (lanes > round) {
		mine.word += rank / round;
		leader = mam_bits_nth(mask, rank & ~(round - 1));
		lanes -= rank & ~(round - 1);
		lanes = lanes < round ? lanes : round;
		rank &= round - 1;
	}
	if (had)
		lost = 0;
	else if (!rank && mine.word < heap->blocks << mam_traits_words_shift(traits))
		lost = ~(uint32_t)(mam_slots_claim(mam_traits_words(heap, traits), mine.word,
						   mam_bits_span(mine.slot, lanes)) >>
				   mine.slot);
	lost = mam_warp_shuffle32(mask, lost, leader);
	mine.slot = lost >> rank & 1 ? MAM_NO_SLOT : mine.slot + rank;
	return mine;
}

/*
 * Step 2: no lane has a slot, so the home may not have a slab yet. Opens it, and claims again. The
 * same class in all lanes of `mask`.
 */
MAM_KFN struct mam_kslot mam_search_open(const struct mam_kheap *heap, uint32_t mask,
					 uint32_t class_)
{
	const struct mam_kheap head = mam_head_read(heap);
	uint32_t lanes = mam_popc32(mask), rank = mam_popc32(mask & ((1u << mam_lane()) - 1)),
		 tries;
	uint64_t traits = mam_traits_of(class_);
	uint32_t round = 1u << mam_traits_round_shift(traits), word, share;
	struct mam_kslot home = mam_handle_home(&head, traits, mam_handle_warp(), lanes), mine;
	enum mam_opening opening;

	word = home.word + rank / round;
	share = lanes - rank < round ? lanes - rank : round;
	MAM_ROLLED
	for (tries = 0; tries < MAM_RECLAIM_TRIES; tries++) {
		opening = MAM_OPEN_NOT;
		if (!(rank % round) && word < head.blocks << mam_traits_words_shift(traits) &&
		    !mam_slots_load(mam_traits_words(&head, traits), word))
			opening =
				mam_slab_open(heap, class_, word, mam_bits_span(home.slot, share));
		mine = mam_search_claim(&head, mask, traits, opening == MAM_OPEN_DONE);
		if (!mam_warp_ballot(mask, opening == MAM_OPEN_LATER) ||
		    mam_warp_ballot(mask, mine.slot != MAM_NO_SLOT))
			break;
	}
	return mine;
}

/* The request of a lane, and its result. */
struct mam_kwish {
	void *object;          /* NULL: nothing yet */
	uint32_t class_;       /* 1 if it wants no slot */
	uint32_t units;        /* of a run; 0: it wants no run */
	struct mam_kslot mine; /* slot MAM_SLOT_OUT: it wants no slot */
};

/* The request of a lane that has this slot, except for runs, by lanes that search together. */
MAM_KFN struct mam_kwish mam_search_wish(const struct mam_kheap *heap, uint32_t mask, size_t bytes,
					 struct mam_kslot mine)
{
	struct mam_kwish wish;

	if (mam_lane() == mam_ffs32(mask) - 1)
		MAM_STEPS_ADD(heap, searches, 1);
	wish.object = NULL;
	wish.class_ = mam_class_of(bytes);
	wish.class_ = wish.class_ ? wish.class_ : 1;
	wish.units = 0;
	wish.mine = mine;
	if (mine.slot < MAM_NO_SLOT) {
		wish.object = mam_metadata_at(heap, wish.class_, mine.word, mine.slot);
		wish.mine.slot = MAM_SLOT_DONE;
	}
	return wish;
}

/*
 * Steps 2 and 3 in the root or in one part, for the lanes of `mask`, some of which have an open
 * request.
 */
MAM_KFN struct mam_kwish mam_search_look(struct mam_kheap *root, struct mam_kheap *heap,
					 uint32_t mask, struct mam_keffort effort,
					 struct mam_kwish wish)
{
	uint32_t one = mam_warp_shuffle32(mask, wish.class_, mam_ffs32(mask) - 1), large;

	if (effort.looks &&
	    !mam_warp_ballot(mask, wish.mine.slot != MAM_NO_SLOT || wish.class_ != one))
		wish.mine = mam_search_open(heap, mask, wish.class_);
	wish.mine = mam_seek(root, heap, mask, wish.class_, effort, wish.mine);
	if (wish.mine.slot < MAM_NO_SLOT) {
		wish.object = mam_metadata_at(heap, wish.class_, wish.mine.word, wish.mine.slot);
		wish.mine.slot = MAM_SLOT_DONE;
	}
	large = mam_warp_ballot(mask, wish.units && !wish.object &&
					      wish.units <= heap->blocks * MAM_BLOCK_UNITS);
	if (large && !effort.all && mam_seek_over(mask, effort))
		large = 0;
	if (large >> mam_lane() & 1)
		wish.object = mam_spans_take(root, heap, large, wish.units, effort);
	mam_warp_sync(mask);
	return wish;
}

/* Returns whether the lane's request is still open. */
MAM_KFN bool mam_search_wants(struct mam_kwish wish)
{
	return !wish.object &&
	       (wish.units || wish.mine.slot == MAM_NO_SLOT || wish.mine.slot == MAM_SLOT_NONE);
}

/*
 * mam_search - steps 2 and 3, for the lanes of `mask`, which must be the active lanes that use this
 * heap. `mine` is the caller's slot, if it has one.
 */
MAM_KSLOW void *mam_search(struct mam_kheap *heap, uint32_t mask, size_t bytes,
			   struct mam_kslot mine)
{
	struct mam_keffort effort = { MAM_SEEK_LOOKS, true, true, NULL, NULL, 0 };
	struct mam_kwish wish;

	if (!mam_search_serves(heap)) {
		mam_search_wrong(heap);
		return NULL;
	}
	wish = mam_search_wish(heap, mask, bytes, mine);
	if (bytes > MAM_CLASS_BYTES_MAX)
		wish.units = mam_spans_units(heap, bytes);
	if (!wish.units && mine.slot == MAM_SLOT_OUT)
		mam_object_tally_add(heap, bytes ? MAM_OBJECT_TOO_LARGE : MAM_OBJECT_ZERO, 1);
	mam_warp_sync(mask);
	return mam_search_look(heap, heap, mask, effort, wish).object;
}

#endif
