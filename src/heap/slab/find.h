/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find.h - finds free slots for lanes that want the same class, by one of them alone: ordinary code
 * without collectives, which lanes with different classes execute at the same time.
 *
 * 1. Lanes of one warp that want the same class have a home (handle.h). One of them opens it; a full
 *    warp then tries its homes of later generations. The first time that a full warp gets here in a
 *    launch it closes groups of other classes at home if they are idle: only then, as two classes
 *    that share homes, and use them in turn, would close each other's groups each time.
 * 2. Each class has a row of words where searches found room; neighboring warps share a word. If it
 *    has no room, one lane marks it as busy and searches for the next word; others wait for that a
 *    moment. So few groups are open that are not full.
 * 3. The search: random words where the class was seen.
 * 4. Open a group: in a random block before the frontier, the fullest of four that have room; or at
 *    the frontier, which moves. So groups stay at the low end of the heap, and the memory after the
 *    frontier stays in one piece. If all four blocks were empty, the frontier moves back.
 * 5. More random words; then random units: a group with all slots free is closed, which frees units
 *    for 4.
 * Every claim is an atomic whose old value shows what was won, so all that is read before is a hint.
 *
 * Source: the random walk over pages of Pham et al., ACM TOPC 12(1), 2025; the choice among several
 * random places is from Azar et al., "Balanced Allocations", SIAM J. Comput. 29(1), 1999.
 *
 * Slower alternatives, on an H200: waiting for a busy word within the search of one lane: leaders
 * of one warp wait for each other, and the words stay busy; all lanes at the first block: a hundred
 * times slower for the first 16,384 lanes; a few waits only: a heap that is a quarter full has room
 * for 18% of its free memory as 4 KiB objects, in place of 92%; a zone of random blocks in place of
 * the frontier: 15 times slower for a million lanes; the home after the row: 3 times slower for lone
 * lanes, whose home is never opened then; each lane looks and opens for itself: 5 times slower for
 * 128K mixed objects of up to 64 B, as lanes meet in one word.
 *
 * Bound: MAM_FIND_OWN homes, MAM_FIND_KNOWN looks and MAM_FIND_TURNS attempts.
 */
#ifndef MAM_HEAP_SLAB_FIND_H
#define MAM_HEAP_SLAB_FIND_H

#include "heap/slab/pass.h"

#define MAM_FIND_FULL 16u /* lanes of a warp that count as a full one */
#define MAM_FIND_OWN 2u   /* generations */
#define MAM_FIND_AGAIN 2u /* attempts to open a home of each */
#define MAM_FIND_KNOWN 2u /* words of a row */
#define MAM_FIND_TRIES 4u /* claims in one word */
#define MAM_FIND_WIDTH 4u /* words or blocks in one look */
#define MAM_FIND_SHARE 10 /* blocks >> this: units that are opened together */
/* Attempts of a search, in turn: two looks; openings; more looks; closings. */
#define MAM_FIND_OPEN_BEGIN 2u
#define MAM_FIND_OPEN_END 7u
#define MAM_FIND_LOOKS_END 15u
#define MAM_FIND_TURNS 23u
#define MAM_FIND_POLLS 99u  /* of a word that another lane searches for */
#define MAM_FIND_NS 300     /* between two of them */
#define MAM_FIND_SMALL 24u  /* the last class of at most one unit */
#define MAM_FIND_EDGE 4096u /* the frontier does not move back below this unit */

/* Returns whether this attempt of a search looks for slots. */
MAM_KFN bool mam_find_looks(uint32_t turn)
{
	return turn < MAM_FIND_OPEN_BEGIN ||
	       (turn >= MAM_FIND_OPEN_END && turn < MAM_FIND_LOOKS_END);
}

/* Slots that the caller has won in a word. */
struct mam_kfind {
	uint64_t won; /* 0: none */
	uint32_t word;
};

/*
 * A request, in one register, because each argument of a call costs a kernel registers: from bit 0
 * the class; from bit 8 the number of slots, at least one; from bit 16 the number of lanes of the
 * warp, or 0 if they want different classes; from bit 24 the caller's rank among those lanes.
 */
MAM_KFN uint32_t mam_find_need(uint32_t class_, uint32_t n, uint32_t lanes, uint32_t first)
{
	return class_ | n << 8 | lanes << 16 | first << 24;
}

MAM_KFN uint32_t mam_find_class(uint32_t need)
{
	return need & 255;
}

MAM_KFN uint32_t mam_find_n(uint32_t need)
{
	return need >> 8 & 255;
}

MAM_KFN uint32_t mam_find_lanes(uint32_t need)
{
	return need >> 16 & 255;
}

MAM_KFN uint32_t mam_find_random(uint32_t turn)
{
	return mam_walk_mix(((uint32_t)mam_clock() ^ mam_smid() << 20) +
			    (mam_lane() + turn * 32) * MAM_WALK_GOLDEN);
}

/*
 * Claims at most `n` slots of a word that was seen as `seen`, starting at a place that others
 * hardly use. The old value shows which slots other lanes claimed first.
 */
MAM_KFN uint64_t mam_find_claim(uint64_t *word, uint64_t seen, uint32_t n, uint32_t from)
{
	uint64_t won = 0, chosen;
	uint32_t tries;

	MAM_ROLLED
	for (tries = 0; tries < MAM_FIND_TRIES && seen && n; tries++) {
		chosen = mam_bits_pick(seen, n, from % 64);
		seen = mam_slots_claim(word, 0, chosen);
		won |= seen & chosen;
		n -= mam_popc64(seen & chosen);
		seen &= ~chosen;
	}
	return won;
}

/*
 * The slots of the groups that are opened together, starting with `group`: those of a few units, or
 * as many as `n` slots need.
 */
MAM_KFN uint64_t mam_find_slots(const struct mam_kheap *heap, uint64_t traits, uint32_t group,
				uint32_t n)
{
	uint32_t shift = mam_traits_group_shift(traits), end;
	uint64_t slots = mam_slots_all(traits) & MAM_WORD_FULL << (group << shift);

	end = heap->blocks >> MAM_FIND_SHARE;
	end = end < MAM_BLOCK_UNITS ? end : MAM_BLOCK_UNITS;
	end = (group << shift) + (end / mam_traits_group_units(traits) << shift);
	end = end < (group << shift) + n ? (group << shift) + n : end;
	end = ((end - 1) >> shift) + 1;
	return end << shift < 64 ? slots & (((uint64_t)1 << (end << shift)) - 1) : slots;
}

/*
 * Opens some groups of a slab, starting with this one. Returns slots of the caller. A word of
 * MAM_NO_WORD: none.
 */
MAM_KSLOW uint64_t mam_find_groups(const struct mam_kheap *heap, uint32_t need, uint32_t word,
				   uint32_t group)
{
	uint64_t traits = mam_traits_of(mam_find_class(need)), slots;

	if (word >= heap->blocks << mam_traits_words_shift(traits))
		return 0;
	slots = mam_find_slots(heap, traits, group, mam_find_n(need));
	return mam_slab_open(heap, mam_find_class(need), word, slots,
			     mam_slots_lowest(slots, mam_find_n(need)));
}

/*
 * A group whose units are free, at this unit if possible, or elsewhere in its block: the word of its
 * slab, and its number; or MAM_NO_WORD. A unit of MAM_NO_PAGE: none.
 */
MAM_KSLOW struct mam_kslot mam_find_place(const struct mam_kheap *heap, uint32_t class_,
					  uint32_t unit)
{
	uint32_t block = unit / MAM_BLOCK_UNITS;
	struct mam_kslot place;

	place.word = MAM_NO_WORD;
	place.slot = 0;
	if (block < heap->blocks)
		place.word = mam_pass_open(mam_traits_of(class_), block,
					   mam_bitmap_load(mam_pages_bits(heap->units), block),
					   unit % MAM_BLOCK_UNITS, &place.slot);
	return place;
}

/*
 * Closes the group of a unit if all its slots are free. Returns its units, as bits of their block's
 * word, or 0: the unit is free, in transition, or has a live object.
 */
MAM_KSLOW uint64_t mam_find_close(const struct mam_kheap *heap, uint32_t unit)
{
	uint32_t owner = mam_owners_load_acquire(heap, unit), word, group;
	uint64_t of;

	if (owner - 1 >= MAM_CLASSES)
		return 0;
	of = mam_traits_of(owner);
	word = unit >> mam_traits_span_shift(of);
	group = mam_slab_group(of, word, unit);
	if (~mam_global_load64(&mam_traits_words(heap, of)[word], MAM_ACQUIRE, MAM_AT_DEVICE) &
		    mam_slab_group_slots(of, group) ||
	    !mam_slab_close(heap, owner, word, group))
		return 0;
	return mam_slab_group_units(of, word, group);
}

/* The home of the lanes of a request in a generation: its word, and its slots in `own`. */
MAM_KFN uint32_t mam_find_home(const struct mam_kheap *heap, uint32_t need, uint32_t generation,
			       uint64_t *own)
{
	uint64_t traits = mam_traits_of(mam_find_class(need));
	uint32_t lanes = mam_find_lanes(need) - (need >> 24);
	struct mam_kslot home;

	home = mam_handle_home(heap, traits, mam_handle_warp() + generation * mam_handle_warps(),
			       mam_find_lanes(need));
	lanes = lanes < 64 - home.slot ? lanes : 64 - home.slot;
	*own = mam_slots_all(traits) & mam_bits_span(home.slot, lanes);
	return home.word + (need >> 24 >> mam_traits_round_shift(traits));
}

/* All slots of the groups with these consecutive slots. */
MAM_KFN uint64_t mam_find_grouped(uint64_t traits, uint64_t slots)
{
	uint32_t shift = mam_traits_group_shift(traits);
	uint32_t first = (mam_ffs64(slots) - 1) >> shift, last = (63 - mam_clz64(slots)) >> shift;

	return mam_slots_all(traits) & mam_bits_span(first << shift, (last - first + 1) << shift);
}

/* Their units, as bits of their block's word. The last group may reach beyond the slab's units. */
MAM_KFN uint64_t mam_find_units(uint64_t traits, uint32_t word, uint64_t slots)
{
	uint32_t shift = mam_traits_group_shift(traits), each = mam_traits_group_units(traits);
	uint32_t first = (mam_ffs64(slots) - 1) >> shift, last = (63 - mam_clz64(slots)) >> shift;
	uint32_t units = (last - first + 1) * each;

	units = units < MAM_BLOCK_UNITS ? units : MAM_BLOCK_UNITS;
	return mam_slab_span(traits, word) &
	       mam_bits_span(0, units)
		       << (mam_slab_unit(traits, word) % MAM_BLOCK_UNITS + first * each);
}

/*
 * Step 1: the slots of the home in a generation. As long as another thread opens its group, it is
 * tried again. If it wins none, `word` is that of the home if its first group is not open, or else
 * MAM_NO_WORD.
 */
MAM_KSLOW struct mam_kfind mam_find_own(const struct mam_kheap *heap, uint32_t need,
					uint32_t generation)
{
	uint64_t traits = mam_traits_of(mam_find_class(need)), *words, seen, own, slots;
	uint32_t tries, owner;
	struct mam_kfind found;

	found.won = 0;
	found.word = mam_find_home(heap, need, generation, &own);
	if (found.word >= heap->blocks << mam_traits_words_shift(traits)) {
		found.word = MAM_NO_WORD;
		return found;
	}
	words = mam_traits_words(heap, traits);
	slots = mam_find_lanes(need) < MAM_FIND_FULL ? mam_find_grouped(traits, own)
						     : mam_slots_all(traits);
	MAM_ROLLED
	for (tries = 0; tries < MAM_FIND_TRIES && !found.won; tries++) {
		owner = mam_slab_owner(heap, traits, found.word, mam_ffs64(own) - 1);
		seen = mam_slots_load(words, found.word) & slots;
		if (seen)
			found.won = mam_find_claim(&words[found.word], seen, mam_find_n(need),
						   mam_ffs64(own) - 1);
		else if (owner == mam_find_class(need))
			found.word = MAM_NO_WORD;
		if (!seen && owner != mam_find_class(need) + MAM_OWNER_MOVING)
			break;
	}
	return found;
}

/*
 * Step 1: opens the groups of a home whose units are free, those of the whole slab for a full warp.
 * If `close`, it first closes idle groups there, up to the first one with a live object: so the home
 * serves its warp again, whatever the heap was used for before.
 */
MAM_KSLOW struct mam_kfind mam_find_reopen(const struct mam_kheap *heap, uint32_t need,
					   uint32_t generation, bool close)
{
	uint64_t traits = mam_traits_of(mam_find_class(need)), own, slots, left, closed = 1;
	uint32_t block;
	struct mam_kfind found;

	found.word = mam_find_home(heap, need, generation, &own);
	block = mam_slab_block(traits, found.word);
	left = mam_bitmap_load(mam_pages_bits(heap->units), block) &
	       mam_find_units(traits, found.word, own);
	left = close ? left : 0;
	MAM_ROLLED
	for (; left && closed; left &= ~closed)
		closed = mam_find_close(heap, block * MAM_BLOCK_UNITS + mam_ffs64(left) - 1);
	slots = mam_find_lanes(need) < MAM_FIND_FULL ? own : mam_slots_all(traits);
	slots = mam_slab_free(traits, found.word, slots,
			      mam_bitmap_load(mam_pages_bits(heap->units), block))
			.slots;
	own = mam_slots_lowest(own & slots, mam_find_n(need));
	found.won = own ? mam_slab_open(heap, mam_find_class(need), found.word, slots, own) : 0;
	return found;
}

/* Step 2: a word of the row of a class; that of the calling warp if `warp` is its number. */
MAM_KFN uint32_t *mam_find_shared(const struct mam_kheap *heap, uint32_t class_, uint32_t warp)
{
	uint32_t *rows = (uint32_t *)(mam_metadata_searches(heap) + 1);
	uint32_t width = mam_metadata_width(heap->blocks);
	uint32_t units = mam_traits_group_units(mam_traits_of(class_));

	/* A class with larger groups uses fewer words. */
	warp &= ((1u << width) - 1) >> (units > 8 ? 4 : units > 2);
	return rows + ((class_ - 1) << width) + warp;
}

/*
 * Step 2, in the caller's word, then in its neighbors: this code is there already, and that of the
 * search may not be. Finds slots; otherwise `word` is the value of the caller's word when it was
 * marked as busy, or MAM_SHARED_BUSY if another lane searches.
 */
MAM_KSLOW struct mam_kfind mam_find_known(const struct mam_kheap *heap, uint32_t need)
{
	uint64_t *words = mam_traits_words(heap, mam_traits_of(mam_find_class(need)));
	uint32_t *shared, at, was = 0, looks;
	struct mam_kfind found;

	MAM_ROLLED
	for (looks = 0; looks < MAM_FIND_KNOWN; looks++) {
		shared = mam_find_shared(heap, mam_find_class(need), mam_handle_warp() ^ looks);
		at = mam_atomic_load32(shared, MAM_RELAXED, MAM_AT_DEVICE);
		was = looks ? was : at;
		found.word = (at & ~MAM_SHARED_BUSY) - 1;
		if (!(at & ~MAM_SHARED_BUSY))
			continue;
		found.won = mam_find_claim(&words[found.word], mam_slots_load(words, found.word),
					   mam_find_n(need), mam_handle_warp() * 8);
		if (found.won)
			return found;
	}
	shared = mam_find_shared(heap, mam_find_class(need), mam_handle_warp());
	found.won = 0;
	found.word = MAM_SHARED_BUSY;
	if (!(was & MAM_SHARED_BUSY) &&
	    mam_atomic_cas32(shared, was, was | MAM_SHARED_BUSY, MAM_RELAXED, MAM_AT_DEVICE) == was)
		found.word = was;
	return found;
}

/* The caller's search for the next word is over: it found `found`, or the word stays as `was`. */
MAM_KFN void mam_find_share(const struct mam_kheap *heap, uint32_t class_, struct mam_kfind found,
			    uint32_t was)
{
	if (found.won)
		was = found.word + 1;
	if (was != MAM_SHARED_BUSY)
		mam_atomic_store32(mam_find_shared(heap, class_, mam_handle_warp()), was,
				   MAM_RELAXED, MAM_AT_DEVICE);
}

/* A random block in which the class was seen, from one word of `hints`, or MAM_NO_WORD. */
MAM_KFN uint32_t mam_find_hint(const struct mam_kheap *heap, uint32_t class_, uint32_t random)
{
	uint32_t count = mam_metadata_hint_words(heap->blocks), turn = random & 63;
	uint32_t at = (uint32_t)((uint64_t)random * count >> 32);
	uint64_t hints = mam_global_load64(&heap->hints[(class_ - 1) * count + at], MAM_RELAXED,
					   MAM_AT_DEVICE);

	if (!hints)
		return MAM_NO_WORD;
	return at * 64 + ((mam_ffs64(mam_bits_rotate_right(hints, turn)) - 1 + turn) & 63);
}

/* Steps 3 and 5: a few adjacent words, starting in a block where the class was seen. */
MAM_KSLOW struct mam_kfind mam_find_seen(const struct mam_kheap *heap, uint32_t need,
					 uint32_t random)
{
	uint64_t traits = mam_traits_of(mam_find_class(need)), *words, seen[MAM_FIND_WIDTH];
	uint32_t shift = mam_traits_words_shift(traits), count = heap->blocks << shift, i;
	uint32_t block = mam_find_hint(heap, mam_find_class(need), random);
	struct mam_kfind found;
	uint64_t room = 0;

	found.won = 0;
	found.word = (block << shift) + (mam_walk_mix(random) & ((1u << shift) - 1));
	found.word &= ~(MAM_FIND_WIDTH - 1);
	if (block == MAM_NO_WORD)
		return found;
	words = &mam_traits_words(heap, traits)[found.word];
	for (i = 0; i < MAM_FIND_WIDTH; i++)
		seen[i] = found.word + i < count ? mam_slots_load(words, i) : 0;
	count = 0;
	for (i = 0; i < MAM_FIND_WIDTH; i++)
		if (seen[i]) {
			room = seen[i];
			count = i;
		}
	found.won = mam_find_claim(&words[count], room, mam_find_n(need), random);
	found.word += count;
	return found;
}

/*
 * A random unit before the frontier: of a few, one in the fullest block in which a group's units
 * are free; or MAM_NO_PAGE.
 */
MAM_KSLOW uint32_t mam_find_block(const struct mam_kheap *heap, uint32_t class_, uint32_t edge,
				  uint32_t random)
{
	uint64_t *bits = mam_pages_bits(heap->units), taken[MAM_FIND_WIDTH];
	uint32_t at[MAM_FIND_WIDTH], i, best = MAM_NO_PAGE, most = 0, empty = 0;
	uint32_t units = mam_traits_group_units(mam_traits_of(class_));

	for (i = 0; i < MAM_FIND_WIDTH; i++) {
		at[i] = (uint32_t)((uint64_t)mam_walk_mix(random + i) * edge >> 32);
		taken[i] = mam_bitmap_load(bits, at[i] / MAM_BLOCK_UNITS);
	}
	for (i = 0; i < MAM_FIND_WIDTH; i++) {
		empty += !taken[i];
		if (mam_popc64(taken[i]) >= most && mam_bits_stretches(~taken[i], units)) {
			most = mam_popc64(taken[i]);
			best = at[i];
		}
	}
	/* Most blocks are empty: fewer are needed. */
	if (empty == MAM_FIND_WIDTH && !(random & 3) && edge > MAM_FIND_EDGE)
		(void)mam_atomic_cas32(&mam_metadata_searches(heap)->frontier, edge,
				       edge - MAM_BLOCK_UNITS, MAM_RELAXED, MAM_AT_DEVICE);
	return best;
}

/*
 * Step 4: the unit of the next attempt to open a group after `unit`: MAM_NO_PAGE at first, and at
 * last. The first attempt is before the frontier, the others are at it.
 */
MAM_KSLOW uint32_t mam_find_next(const struct mam_kheap *heap, uint32_t class_, uint32_t tries,
				 uint32_t unit)
{
	uint32_t *frontier = &mam_metadata_searches(heap)->frontier, edge, units;
	uint32_t end = heap->blocks * MAM_BLOCK_UNITS;

	edge = mam_atomic_load32(frontier, MAM_RELAXED, MAM_AT_DEVICE);
	if (!tries)
		return edge < MAM_FIND_EDGE && edge < end
			       ? MAM_NO_PAGE
			       : mam_find_block(heap, class_, edge < end ? edge : end,
						mam_find_random(0));
	if (edge >= end)
		return MAM_NO_PAGE;
	/* Occupied, by homes or by runs: on to the next block. */
	if (tries > 1 && edge / MAM_BLOCK_UNITS == unit / MAM_BLOCK_UNITS)
		(void)mam_atomic_cas32(frontier, edge, (unit | (MAM_BLOCK_UNITS - 1)) + 1,
				       MAM_RELAXED, MAM_AT_DEVICE);
	units = mam_traits_group_units(mam_traits_of(class_));
	/* Groups start at multiples of their units, so some are left out. */
	units += units > 2 ? units / 2 : 0;
	return mam_atomic_add32(frontier, units, MAM_RELAXED, MAM_AT_DEVICE);
}

/* Step 5: closes the group of a random unit. Returns the unit, or MAM_NO_PAGE. */
MAM_KFN uint32_t mam_find_idle(const struct mam_kheap *heap, uint32_t random)
{
	uint32_t unit = (uint32_t)((uint64_t)random * (heap->blocks * MAM_BLOCK_UNITS) >> 32);

	return mam_find_close(heap, unit) ? unit : MAM_NO_PAGE;
}

/*
 * Steps 3 to 5, as a sequence of attempts, each of which looks at one place for slots or for units.
 * No collectives. Finds at least one slot and at most as many as needed, or none.
 */
MAM_KSLOW struct mam_kfind mam_find_anywhere(const struct mam_kheap *heap, uint32_t need)
{
	uint32_t turn, unit = MAM_NO_PAGE;
	struct mam_kfind found;
	struct mam_kslot place;

	MAM_ROLLED
	for (turn = 0; turn < MAM_FIND_TURNS; turn++) {
		if (mam_find_looks(turn)) {
			found = mam_find_seen(heap, need, mam_find_random(turn));
		} else {
			if (turn < MAM_FIND_OPEN_END)
				unit = mam_find_next(heap, mam_find_class(need),
						     turn - MAM_FIND_OPEN_BEGIN, unit);
			else
				unit = mam_find_idle(heap, mam_find_random(turn));
			place = mam_find_place(heap, mam_find_class(need), unit);
			found.word = place.word;
			found.won = mam_find_groups(heap, need, place.word, place.slot);
		}
		if (found.won)
			break;
	}
	MAM_STEPS_ADD(heap, looks, turn);
	return found;
}

#endif
