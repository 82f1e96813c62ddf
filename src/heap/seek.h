/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seek.h - finds slots for lanes that their handle did not serve: a random walk over the words of
 * their class, and over the units, at once.
 *
 * 1. Each group of lanes with one class looks at as many words in a row, and at the units under
 *    them: first at its home (handle.h), where slabs are opened if they can be, then where its warp
 *    found room the last time.
 * 2. Words with free slots: they are shared out (deal.h).
 * 3. None, but free units where a slab may begin: as many are opened as are needed.
 * 4. Else the next place: where there was room for some, the next words; where others of the launch
 *    have their homes; and after some looks, a block where the class was seen, or any.
 * 5. After so many looks in vain, a pass over everything (pass.h), for one class after the other,
 *    with the help of all lanes.
 *
 * Source: the walk over pages of Pham et al., ACM TOPC 12(1), 2025, with slabs in the place of pages
 * and two bitmaps looked at together.
 *
 * Bound: MAM_SEEK_LOOKS looks, then MAM_PASSES_MAX passes.
 */
#ifndef MAM_HEAP_SEEK_H
#define MAM_HEAP_SEEK_H

#include "heap/pass.h"
#include "heap/returns.h"
#include "heap/scan.h"

#define MAM_SEEK_LOOKS 16
#define MAM_SEEK_HOMES 6

MAM_KSLOW void mam_object_tally_add(const struct mam_kheap *heap, enum mam_object_tally kind,
				    uint32_t n)
{
	(void)mam_atomic_add64(&heap->tallies->of[kind].value, n, MAM_RELAXED, MAM_AT_DEVICE);
}

/* A place in block number `fraction` of the way. */
MAM_KFN uint32_t mam_seek_any(const struct mam_kheap *heap, uint64_t traits, uint32_t fraction)
{
	uint32_t shift = mam_traits_words_shift(traits);

	return (uint32_t)((uint64_t)fraction * heap->blocks >> 32 << shift) |
	       (fraction & ((1u << shift) - 1));
}

/*
 * Steps 2 and 3 at the caller's `word`, or at none. `home`: if no slab is there, one is to be opened,
 * whatever room the others see. Sets `late` to the lanes that were too late for the units they saw.
 */
MAM_KFN struct mam_kslot mam_seek_take(const struct mam_kheap *heap, uint32_t mask, uint32_t group,
				       uint32_t needy, uint32_t class_, uint64_t traits,
				       uint32_t word, bool home, struct mam_kslot mine,
				       uint32_t *late)
{
	uint64_t seen = 0, taken = MAM_WORD_FULL;
	bool opened = false, may;
	uint32_t ready;

	if (word != MAM_NO_WORD) {
		seen = mam_slots_load(mam_traits_words(heap, traits), word);
		taken = mam_bitmap_load(mam_pages_bits(heap->units), mam_slab_block(traits, word));
	}
	ready = mam_warp_ballot(mask, seen != 0) & group;
	may = (home || !ready) && !(taken & mam_slab_span(traits, word));
	ready = mam_warp_ballot(mask, may) & group & ((1u << mam_lane()) - 1);
	/* As many as the group needs, the first ones. */
	may = may && mam_popc32(ready) * mam_traits_slots(traits) < mam_popc32(needy & group);
	if (may) {
		opened = mam_slab_ground(heap, traits, word, taken);
		seen = opened ? mam_slots_all(traits) : 0;
	}
	*late = mam_warp_ballot(mask, may && !opened);
	return mam_deal(heap, mask, group, needy, class_, traits, word, seen, opened, mine);
}

/* Step 5, for the lanes of `group`, which have one class. */
MAM_KSLOW struct mam_kslot mam_seek_pass(const struct mam_kheap *heap, uint32_t mask,
					 uint32_t group, uint32_t class_, struct mam_kslot mine)
{
	uint32_t rank = mam_popc32(mask & ((1u << mam_lane()) - 1)), needy, next, block, passes;
	uint64_t traits = mam_traits_of(class_);
	uint32_t order = mam_walk_mix((uint32_t)mam_clock()), doubt, leader = mam_ffs32(mask) - 1, late;
	uint32_t shift = 31 - (uint32_t)(mam_clz64(mam_popc32(mask)) - 32);
	struct mam_klook look;

	order = mam_warp_shuffle32(mask, order, leader);
	needy = mam_warp_ballot(mask, mine.slot == MAM_NO_SLOT) & group;
	MAM_ROLLED
	for (passes = 0; needy && passes < MAM_PASSES_MAX; passes++) {
		doubt = 0;
		next = 0;
		MAM_ROLLED
		while (needy) {
			block = mam_tour_next(heap->blocks, shift, order, &next);
			if (block == MAM_TOUR_END)
				break;
			block += rank;
			MAM_ROLLED
			do {
				look.word = MAM_NO_WORD;
				look.doubt = 0;
				if (rank < 1u << shift && block < heap->blocks)
					look = mam_pass_block(heap, class_, block);
				doubt |= look.doubt;
				mam_warp_sync(mask);
				if (!mam_warp_ballot(mask, look.word != MAM_NO_WORD))
					break;
				mine = mam_seek_take(heap, mask, mask, needy, class_, traits,
						     look.word, false, mine, &late);
				needy = mam_warp_ballot(mask, mine.slot == MAM_NO_SLOT) & group;
			} while (needy);
		}
		if (!needy)
			break;
		if (!mam_warp_ballot(mask, doubt != 0))
			break;
		mam_scan_pause(passes);
	}
	if (needy && mam_lane() == leader)
		mam_object_tally_add(heap,
				     passes < MAM_PASSES_MAX ? MAM_OBJECT_FULL
							     : MAM_OBJECT_CONTENDED,
				     mam_popc32(needy));
	return mine;
}

/* A block in which the class was seen: of those of one word of seats, by chance, or MAM_NO_WORD. */
MAM_KFN uint32_t mam_seek_seat(const struct mam_kheap *heap, uint32_t class_, uint32_t random)
{
	uint32_t count = mam_books_seat_words(heap->blocks), turn = random & 63;
	uint32_t at = (uint32_t)((uint64_t)random * count >> 32);
	uint64_t seats = mam_global_load64(&heap->seats[(class_ - 1) * count + at], MAM_RELAXED,
					   MAM_AT_DEVICE);

	if (!seats)
		return MAM_NO_WORD;
	return at * 64 + ((mam_ffs64(mam_bits_rotate_right(seats, turn)) - 1 + turn) & 63);
}

/* Step 5, for one class after the other. */
MAM_KSLOW struct mam_kslot mam_seek_passes(struct mam_kheap *heap, uint32_t mask, uint32_t class_,
					   struct mam_kslot mine)
{
	uint32_t needy = mam_warp_ballot(mask, mine.slot == MAM_NO_SLOT), group, one;

	mam_returns_drain(heap);
	mam_warp_sync(mask);
	MAM_ROLLED
	while (needy) {
		one = mam_warp_shuffle32(mask, class_, mam_ffs32(needy) - 1);
		group = mam_warp_ballot(mask, class_ == one) & needy;
		mine = mam_seek_pass(heap, mask, group, one, mine);
		needy &= ~group;
	}
	return mine;
}

/* A word where other warps of the launch have their home, or that is near the caller's. */
MAM_KFN uint32_t mam_seek_other(const struct mam_kheap *heap, uint32_t mask, uint32_t group,
				uint64_t traits, uint32_t warp)
{
	if (group == mask)
		return mam_handle_home(heap, traits, warp, mam_popc32(group)).word;
	return mam_handle_home_mixed(heap, traits, warp).word;
}

/* Steps 1 to 4. */
MAM_KFN struct mam_kslot mam_seek_walk(const struct mam_kheap *heap, uint32_t mask, uint32_t group,
				       uint32_t class_, uint64_t traits, struct mam_kslot mine)
{
	uint32_t rank = mam_popc32(group & ((1u << mam_lane()) - 1)), leader = mam_ffs32(group) - 1;
	uint32_t count = heap->blocks << mam_traits_words_shift(traits), word, seat, seated, needy;
	uint32_t warps = mam_grid_blocks() * ((mam_block_threads() + 31) / 32), warp, state, looks;
	uint32_t place, lanes = mam_popc32(group), late;

	/* The whole group walks together. */
	state = mam_walk_mix((uint32_t)mam_clock() ^ mam_smid() << 20);
	state = mam_warp_shuffle32(mask, state, leader);
	place = mam_seek_other(heap, mask, group, traits, mam_handle_warp());
	MAM_ROLLED
	for (looks = 0; looks < MAM_SEEK_LOOKS; looks++) {
		needy = mam_warp_ballot(mask, mine.slot == MAM_NO_SLOT);
		if (!needy)
			break;
		word = place + rank < count ? place + rank : place + rank - count;
		if (!(needy & group) || rank >= count)
			word = MAM_NO_WORD;
		mine = mam_seek_take(heap, mask, group, needy, class_, traits, word,
				     !looks && rank << mam_traits_round_shift(traits) < lanes, mine,
				     &late);
		word = mam_warp_ballot(mask, mine.slot == MAM_NO_SLOT);
		if (!word)
			break;
		/*
		 * Where somebody is just opening a slab, the same again; where there was room for
		 * some, the next words; else where the warp found room before, or others begin.
		 */
		state = state * 747796405u + 2891336453u;
		warp = (uint32_t)((uint64_t)state * warps >> 32);
		seat = mam_seek_other(heap, mask, group, traits, warp);
		if (!looks)
			seat = mam_handle_get(heap, class_, seat);
		seat = mam_warp_shuffle32(mask, seat, leader);
		if ((needy & group) != (word & group))
			seat = place + lanes < count ? place + lanes : 0;
		if (!(late & group))
			place = seat;
		if (looks < MAM_SEEK_HOMES)
			continue;
		/* Where the class was seen, or anywhere. */
		seat = mam_seek_seat(heap, class_, mam_walk_mix(state + rank));
		seated = mam_warp_ballot(mask, seat != MAM_NO_WORD) & group;
		word = leader;
		if (seated)
			word = mam_bits_nth(seated, (state >> 8) % mam_popc32(seated));
		seat = mam_warp_shuffle32(mask, seat, word);
		place = mam_seek_any(heap, traits, state);
		if (seated)
			place = (seat << mam_traits_words_shift(traits)) |
				(place & ((1u << mam_traits_words_shift(traits)) - 1));
	}
	return mine;
}

/*
 * A slot for each lane of `mask`, which are those that are here, whose slot is MAM_NO_SLOT; it stays
 * so where there is no room. `group` are those with the caller's class.
 */
MAM_KFN struct mam_kslot mam_seek(struct mam_kheap *heap, uint32_t mask, uint32_t group,
				  uint32_t class_, struct mam_kslot mine)
{
	const struct mam_kheap head = mam_head_read(heap);

	mine = mam_seek_walk(&head, mask, group, class_, mam_traits_of(class_), mine);
	if (mam_warp_ballot(mask, mine.slot == MAM_NO_SLOT))
		mine = mam_seek_passes(heap, mask, class_, mine);
	mam_warp_sync(mask);
	return mine;
}

#endif
