/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seek.h - finds slots for lanes that their home did not serve: a search over the words of their
 * class and over the units at once.
 *
 * 1. Lanes that want different classes: each group of one class looks at one word, first at its
 *    home (handle.h), all groups at once; then at homes that more and more groups share.
 * 2. For the lanes left, one class after the other: all lanes of the warp look, each at a word. The
 *    first, as many as are needed, look at the warp's own words of a generation, and open slabs
 *    there if there are none yet and the units are free. The others look at consecutive words where
 *    the class was seen, or anywhere. If only a few lanes of many need a slot, they have no words
 *    of their own. Free slots are dealt out (deal.h).
 * 3. The same in the next generation.
 * 4. After so many looks a scan over everything (pass.h); in a heap that grows, only when no more
 *    memory is available.
 *
 * Source: the random walk over pages of Pham et al., ACM TOPC 12(1), 2025, with slabs in place of
 * pages and two bitmaps searched together.
 *
 * Slower alternatives, on an H100. One loop for all groups of a warp, each with as many words as it
 * has lanes: 1,124 instructions, 2.1 G mixed requests per second in place of 2.9. Neighbors' room
 * before a slab of the group's own: a group that lost its room takes the next one's, and the churn
 * of a million threads takes twice as long. Opening a slab with all its slots free and claiming
 * them afterwards: scans close it in between, and a heap that is half full of mixed sizes stalled
 * for seconds.
 *
 * All of it is inlined into one function that is not inlined (objects.h), whatever its size. Split
 * into functions that are not inlined it was a little faster, and wrong on an H100: among lanes of
 * a warp that had diverged, some got objects that others had. nvcc 13.0 does not keep two groups of
 * a warp apart in a function with collectives that another function calls.
 *
 * Bound: MAM_SEEK_MIXED looks, MAM_SEEK_LOOKS for each class, then MAM_PASSES_MAX scans.
 */
#ifndef MAM_HEAP_SLAB_SEEK_H
#define MAM_HEAP_SLAB_SEEK_H

#include "heap/slab/pass.h"
#include "heap/slab/returns.h"
#include "heap/pages/scan.h"

#define MAM_SEEK_LOOKS 16
#define MAM_SEEK_HOMES 4
#define MAM_SEEK_MIXED 10
#define MAM_SEEK_TRIES 4

/* The slot of a lane that wants none, that was refused, or that has its object. */
#define MAM_SLOT_OUT 65u
#define MAM_SLOT_NONE 66u
#define MAM_SLOT_DONE 67u

/* The effort of a search. */
struct mam_keffort {
	uint32_t looks;
	bool all;    /* scan everything */
	bool counts; /* count a failed request as FULL or CONTENDED */
	/*
	 * Of a heap that grows, otherwise NULL: a search stops when the first no longer equals
	 * `was`, as other lanes have found room elsewhere, or when the second shows that a fetch is
	 * in progress.
	 */
	uint64_t *watch, *stage;
	uint32_t was;
};

MAM_KSLOW void mam_object_tally_add(const struct mam_kheap *heap, enum mam_object_tally kind,
				    uint32_t n)
{
	(void)mam_atomic_add64(&heap->tallies->of[kind].value, n, MAM_RELAXED, MAM_AT_DEVICE);
}

/* Returns whether the search should stop early. The same in all lanes of `mask`. */
MAM_KFN bool mam_seek_over(uint32_t mask, struct mam_keffort effort)
{
	uint32_t now = effort.was, stage = 0;

	if (!effort.watch)
		return false;
	if (mam_lane() == mam_ffs32(mask) - 1) {
		now = (uint32_t)mam_atomic_load64(effort.watch, MAM_RELAXED, MAM_AT_DEVICE);
		stage = (uint32_t)mam_atomic_load64(effort.stage, MAM_RELAXED, MAM_AT_DEVICE);
	}
	return mam_warp_ballot(mask, now != effort.was || (stage & 255)) != 0;
}

/* A word in the block that is `fraction` of the way through the heap. */
MAM_KFN uint32_t mam_seek_any(const struct mam_kheap *heap, uint64_t traits, uint32_t fraction)
{
	uint32_t shift = mam_traits_words_shift(traits);

	return (uint32_t)((uint64_t)fraction * heap->blocks >> 32 << shift) |
	       (fraction & ((1u << shift) - 1));
}

/* A random block in which the class was seen, from one word of `seats`, or MAM_NO_WORD. */
MAM_KFN uint32_t mam_seek_hint(const struct mam_kheap *heap, uint32_t class_, uint32_t random)
{
	uint32_t count = mam_metadata_hint_words(heap->blocks), turn = random & 63;
	uint32_t at = (uint32_t)((uint64_t)random * count >> 32);
	uint64_t hints = mam_global_load64(&heap->hints[(class_ - 1) * count + at], MAM_RELAXED,
					   MAM_AT_DEVICE);

	if (!hints)
		return MAM_NO_WORD;
	return at * 64 + ((mam_ffs64(mam_bits_rotate_right(hints, turn)) - 1 + turn) & 63);
}

/*
 * The next word to search, the same for all lanes of `mask`: where the class was seen, or anywhere.
 */
MAM_KFN uint32_t mam_seek_next(const struct mam_kheap *heap, uint32_t mask, uint32_t class_)
{
	uint32_t random = mam_walk_mix(((uint32_t)mam_clock() ^ mam_smid() << 20) +
				       mam_lane() * MAM_WALK_GOLDEN);
	uint32_t leader = mam_ffs32(mask) - 1, place, hint, seated;
	uint64_t traits = mam_traits_of(class_);

	place = mam_seek_any(heap, traits, random);
	hint = mam_seek_hint(heap, class_, random);
	if (hint != MAM_NO_WORD)
		place = hint << mam_traits_words_shift(traits) |
			(place & ((1u << mam_traits_words_shift(traits)) - 1));
	seated = mam_warp_ballot(mask, hint != MAM_NO_WORD);
	return mam_warp_shuffle32(mask, place, seated ? mam_ffs32(seated) - 1 : leader);
}

/*
 * Finds a slot of this class for each lane of `needy`, with all lanes of `mask`, within so many
 * looks.
 */
MAM_KFN struct mam_kslot mam_seek_walk(const struct mam_kheap *heap, uint32_t mask, uint32_t needy,
				       uint32_t class_, struct mam_keffort effort,
				       struct mam_kslot mine)
{
	const struct mam_kheap head = mam_head_read(heap);
	uint32_t lanes = mam_popc32(mask), rank = mam_popc32(mask & ((1u << mam_lane()) - 1));
	uint64_t traits = mam_traits_of(class_), seen, taken, won;
	uint32_t count = head.blocks << mam_traits_words_shift(traits), word, looks, generation;
	bool few = 2 * mam_popc32(needy) < lanes, own;
	enum mam_opening opening;

	generation = mam_warp_shuffle32(mask, mam_handle_get(&head, class_), mam_ffs32(mask) - 1);
	MAM_ROLLED
	for (looks = 0; looks < effort.looks; looks++) {
		word = mam_seek_next(heap, mask, class_) + rank;
		/* A few lanes of many: there are enough slabs, opened for others. */
		own = (!few || looks >= MAM_SEEK_HOMES) &&
		      rank * mam_traits_slots(traits) < mam_popc32(needy);
		if (own)
			word = mam_handle_home(&head, traits,
					       mam_handle_warp() + generation * mam_handle_warps(),
					       lanes)
				       .word +
			       rank;
		word = word < count ? word : word - count;
		seen = 0;
		taken = MAM_WORD_FULL;
		if (word < count) {
			seen = mam_slots_load(mam_traits_words(&head, traits), word);
			if (own)
				taken = mam_bitmap_load(mam_pages_bits(head.units),
							mam_slab_block(traits, word));
		}
		won = 0;
		opening = MAM_OPEN_NOT;
		if (!seen && !(taken & mam_slab_span(traits, word))) {
			won = mam_slots_lowest(mam_slots_all(traits),
					       mam_popc32(needy) - rank * mam_traits_slots(traits));
			opening = mam_slab_open(heap, class_, word, won);
			won = opening == MAM_OPEN_DONE ? won : 0;
		}
		if (mam_warp_ballot(mask, opening == MAM_OPEN_DONE))
			mine = mam_deal_out(mask, needy, word, won, mine);
		else if (mam_warp_ballot(mask, opening == MAM_OPEN_LATER))
			continue;
		else if (mam_warp_ballot(mask, seen != 0))
			mine = mam_deal(&head, mask, needy, traits, word, seen, mine);
		needy = mam_warp_ballot(mask, mine.slot == MAM_NO_SLOT) & needy;
		if (!needy || mam_seek_over(mask, effort))
			break;
		generation++;
	}
	if (mam_lane() == mam_ffs32(mask) - 1) {
		MAM_STEPS_ADD(heap, looks, looks);
		if (generation)
			mam_handle_set(&head, class_, generation);
	}
	return mine;
}

/*
 * Claims at most `n` slots of a word that was seen as `seen`, starting at a place that others
 * hardly use. The old value shows which slots other lanes claimed first.
 */
MAM_KFN uint64_t mam_seek_grab(uint64_t *word, uint64_t seen, uint32_t n, uint32_t random,
			       uint64_t traits)
{
	uint32_t from = (random & 0xffff) * mam_traits_slots(traits) >> 16, tries;
	uint64_t won = 0, chosen;

	MAM_ROLLED
	for (tries = 0; tries < MAM_SEEK_TRIES && seen && n; tries++) {
		chosen = mam_bits_pick(seen, n, from);
		seen = mam_slots_claim(word, 0, chosen);
		won |= seen & chosen;
		n -= mam_popc64(seen & chosen);
		seen &= ~chosen;
	}
	return won;
}

/*
 * A scan over everything, by all lanes of `mask`, for those of `needy`, which want this class.
 * Objects that the host frees are in the root's ring.
 */
MAM_KFN struct mam_kslot mam_seek_pass(struct mam_kheap *root, struct mam_kheap *heap,
				       uint32_t mask, uint32_t needy, uint32_t class_,
				       struct mam_keffort effort, struct mam_kslot mine)
{
	uint32_t rank = mam_popc32(mask & ((1u << mam_lane()) - 1)), next, block, passes, doubt,
		 order;
	uint32_t shift = 63 - mam_clz64(mam_popc32(mask)), leader = mam_ffs32(mask) - 1;
	uint64_t traits = mam_traits_of(class_), seen, won, *word;
	struct mam_klook look;
	uint32_t ready;

	if (effort.counts)
		mam_returns_drain_lone(root);
	mam_warp_sync(mask);
	order = mam_warp_shuffle32(mask, mam_walk_mix((uint32_t)mam_clock()), leader);
	MAM_ROLLED
	for (passes = 0; passes < MAM_PASSES_MAX; passes++) {
		if (mam_lane() == leader)
			MAM_STEPS_ADD(heap, passes, 1);
		doubt = 0;
		next = 0;
		block = mam_tour_next(heap->blocks, shift, order, &next);
		MAM_ROLLED
		while (block != MAM_TOUR_END) {
			look.word = MAM_NO_WORD;
			look.doubt = 0;
			if (rank < 1u << shift && block + rank < heap->blocks)
				look = mam_pass_block(heap, class_, block + rank);
			doubt |= look.doubt;
			mam_warp_sync(mask);
			ready = mam_warp_ballot(mask, look.word != MAM_NO_WORD);
			if (!ready) {
				block = mam_tour_next(heap->blocks, shift, order, &next);
				continue;
			}
			/* The first lane that found room, as long as these blocks have some. */
			seen = 0;
			if (ready >> mam_lane() & 1 && !(ready & ((1u << mam_lane()) - 1))) {
				word = &mam_traits_words(heap, traits)[look.word];
				won = mam_slots_lowest(mam_slots_all(traits), mam_popc32(needy));
				if (mam_slots_load(word, 0))
					seen = mam_seek_grab(word, mam_slots_load(word, 0),
							     mam_popc32(needy), order, traits);
				else if (mam_slab_open(heap, class_, look.word, won) ==
					 MAM_OPEN_DONE)
					seen = won;
			}
			mine = mam_deal_out(mask, needy, look.word, seen, mine);
			needy = mam_warp_ballot(mask, mine.slot == MAM_NO_SLOT) & needy;
			if (!needy)
				return mine;
		}
		if (!mam_warp_ballot(mask, doubt != 0))
			break;
		mam_scan_pause(passes);
	}
	if (effort.counts && mam_lane() == leader)
		mam_object_tally_add(
			heap, passes < MAM_PASSES_MAX ? MAM_OBJECT_FULL : MAM_OBJECT_CONTENDED,
			mam_popc32(needy));
	return mine;
}

/*
 * Lanes that want different classes: each group has a leader, which looks at one word and claims
 * there for the whole group. All groups do so at once. A group that finds no room at home continues
 * at a place that many homes share, and then at one that many more share. At most MAM_SEEK_MIXED
 * looks.
 */
MAM_KFN struct mam_kslot mam_seek_mixed(const struct mam_kheap *heap, uint32_t mask,
					uint32_t class_, struct mam_keffort effort,
					struct mam_kslot mine)
{
	const struct mam_kheap head = mam_head_read(heap);
	uint32_t group = mam_warp_match32(mask, class_), leader = mam_ffs32(group) - 1, looks,
		 needy;
	uint64_t traits = mam_traits_of(class_), *words = mam_traits_words(&head, traits), won,
		 seen;
	uint32_t warp = mam_handle_warp(), first = 0, word, rank, random, hint;
	uint64_t taken;

	MAM_ROLLED
	for (looks = 0; looks < MAM_SEEK_MIXED; looks++) {
		needy = mam_warp_ballot(mask, mine.slot == MAM_NO_SLOT);
		if (!needy || mam_seek_over(mask, effort))
			break;
		needy &= group;
		/*
		 * Homes; places that more and more homes share; where the class was seen; anywhere.
		 */
		word = mam_handle_home_mixed(&head, traits, first + (warp >> 2 * looks));
		first += (mam_handle_warps() >> 2 * looks) + 1;
		if (looks >= MAM_SEEK_HOMES) {
			random = mam_walk_mix(warp + looks * MAM_WALK_GOLDEN +
					      (uint32_t)mam_clock());
			hint = looks % 2 ? MAM_NO_WORD : mam_seek_hint(&head, class_, random);
			word = mam_seek_any(&head, traits, random);
			if (hint != MAM_NO_WORD)
				word = hint << mam_traits_words_shift(traits) |
				       (word & ((1u << mam_traits_words_shift(traits)) - 1));
			word = mam_warp_shuffle32(mask, word, leader);
		}
		won = 0;
		if (needy && mam_lane() == leader) {
			seen = mam_slots_load(words, word);
			taken = mam_bitmap_load(mam_pages_bits(head.units),
						mam_slab_block(traits, word));
			if (!seen && !(taken & mam_slab_span(traits, word))) {
				won = mam_slots_lowest(mam_slots_all(traits), mam_popc32(needy));
				if (mam_slab_open(heap, class_, word, won) != MAM_OPEN_DONE) {
					won = 0;
					seen = mam_slots_load(words, word);
				}
			}
			if (seen)
				won = mam_seek_grab(&words[word], seen, mam_popc32(needy),
						    warp * MAM_WALK_GOLDEN >> 16, traits);
		}
		won = mam_warp_shuffle64(mask, won, leader);
		rank = mam_popc32(needy & ((1u << mam_lane()) - 1));
		if (needy >> mam_lane() & 1 && rank < mam_popc64(won)) {
			mine.slot = mam_slots_pick(won, rank);
			mine.word = word;
		}
	}
	if (mam_lane() == mam_ffs32(mask) - 1)
		MAM_STEPS_ADD(heap, looks, looks);
	return mine;
}

/*
 * Finds a slot for each lane of `mask`, which must be the active lanes, whose slot is MAM_NO_SLOT;
 * sets MAM_SLOT_NONE if there is no room.
 */
MAM_KFN struct mam_kslot mam_seek(struct mam_kheap *root, struct mam_kheap *heap, uint32_t mask,
				  uint32_t class_, struct mam_keffort effort, struct mam_kslot mine)
{
	uint32_t needy, group, one = 0;

	needy = mam_warp_ballot(mask, mine.slot == MAM_NO_SLOT);
	if (needy)
		one = mam_warp_shuffle32(mask, class_, mam_ffs32(needy) - 1);
	if (needy && mam_warp_ballot(mask, class_ != one) && effort.looks)
		mine = mam_seek_mixed(heap, mask, class_, effort, mine);
	MAM_ROLLED
	while ((needy = mam_warp_ballot(mask, mine.slot == MAM_NO_SLOT)) != 0) {
		one = mam_warp_shuffle32(mask, class_, mam_ffs32(needy) - 1);
		group = mam_warp_ballot(mask, class_ == one) & needy;
		mine = mam_seek_walk(heap, mask, group, one, effort, mine);
		needy = mam_warp_ballot(mask, mine.slot == MAM_NO_SLOT) & group;
		if (needy && effort.all)
			mine = mam_seek_pass(root, heap, mask, needy, one, effort, mine);
		/* A failed search is not repeated here. */
		if (needy >> mam_lane() & 1 && mine.slot == MAM_NO_SLOT)
			mine.slot = MAM_SLOT_NONE;
	}
	mam_warp_sync(mask);
	return mine;
}

#endif
