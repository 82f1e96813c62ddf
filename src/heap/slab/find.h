/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find.h - finds free slots for lanes that want the same class, by one of them alone: ordinary code
 * without collectives, which lanes with different classes execute at the same time.
 *
 * 1. Lanes of a full warp have words of their own: the homes of later generations (handle.h). They
 *    claim there, or open the slab.
 * 2. Each class has a row of words where searches found room; neighboring warps share a word. If it
 *    has no room, one lane marks it as busy and searches for the next word; others wait for that a
 *    moment. So few groups are open that are not full.
 * 3. The search: random words where the class was seen.
 * 4. Open a group: that of the home, for a few lanes of one class; in a random block before the
 *    frontier, the fullest of four that have room; or at the frontier, which moves. So groups stay
 *    at the low end of the heap, and the memory after the frontier stays in one piece. If the block
 *    was empty, the frontier moves back by a block.
 * 5. More random words; then random units: a group with all slots free is closed, which frees units
 *    for 4.
 * Every claim is an atomic whose old value shows what was won, so all that is read before is a hint.
 *
 * Source: the random walk over pages of Pham et al., ACM TOPC 12(1), 2025; the choice among several
 * random places is from Azar et al., "Balanced Allocations", SIAM J. Comput. 29(1), 1999.
 *
 * Bound: MAM_FIND_OWN + 2 + MAM_FIND_LOOKS looks, at most four words each, two openings, and
 * MAM_FIND_IDLE units.
 */
#ifndef MAM_HEAP_SLAB_FIND_H
#define MAM_HEAP_SLAB_FIND_H

#include "heap/slab/pass.h"

#define MAM_FIND_FULL 16u  /* lanes of a warp that count as a full one */
#define MAM_FIND_OWN 4u    /* generations */
#define MAM_FIND_FIRST 2u  /* looks before a group is opened */
#define MAM_FIND_LOOKS 8u  /* looks after that */
#define MAM_FIND_IDLE 8u   /* random units */
#define MAM_FIND_TRIES 4u  /* claims in one word */
#define MAM_FIND_WIDTH 4u  /* words or blocks in one look */
#ifndef MAM_FIND_SHARE
#define MAM_FIND_SHARE 10 /* blocks >> this: units that are opened together */
#endif
#define MAM_FIND_OPENINGS 3u
#ifndef MAM_FIND_POLLS
#define MAM_FIND_POLLS 8u  /* of a word that another lane searches for */
#endif
#define MAM_FIND_EDGE 4096u /* the frontier does not move back below this unit */

/* Slots that the caller has won in a word. */
struct mam_kfind {
	uint64_t won; /* 0: none */
	uint32_t word;
};

/* What a lane looks for. */
struct mam_kneed {
	uint32_t class_;
	uint32_t n;     /* slots: at least one */
	uint32_t lanes; /* of the warp if all want the class; otherwise 0 */
	uint32_t first; /* the rank of the caller among them */
};

MAM_KFN uint32_t mam_find_random(uint32_t turn)
{
	return mam_walk_mix(((uint32_t)mam_clock() ^ mam_smid() << 20) +
			    (mam_lane() + turn * 32) * MAM_WALK_GOLDEN);
}

/*
 * Claims at most `n` slots of a word that was seen as `seen`, starting at a place that others
 * hardly use. The old value shows which slots other lanes claimed first.
 */
MAM_KFN uint64_t mam_find_claim(uint64_t *words, uint32_t word, uint64_t seen, uint32_t n,
				uint32_t random, uint64_t traits)
{
	uint32_t from = (random & 0xffff) * mam_traits_slots(traits) >> 16, tries;
	uint64_t won = 0, chosen;

	MAM_ROLLED
	for (tries = 0; tries < MAM_FIND_TRIES && seen && n; tries++) {
		chosen = mam_bits_pick(seen, n, from);
		seen = mam_slots_claim(words, word, chosen);
		won |= seen & chosen;
		n -= mam_popc64(seen & chosen);
		seen &= ~chosen;
	}
	return won;
}

/* Step 1. */
MAM_KFN struct mam_kfind mam_find_own(const struct mam_kheap *heap, uint64_t traits,
				      struct mam_kneed need)
{
	const struct mam_kheap head = mam_head_read(heap);
	uint32_t generation = mam_handle_get(&head, need.class_), looks;
	uint32_t round = mam_traits_round_shift(traits);
	uint64_t *words = mam_traits_words(&head, traits), seen, mine;
	struct mam_kfind found;

	found.won = 0;
	found.word = 0;
	MAM_ROLLED
	for (looks = 0; looks < MAM_FIND_OWN && !found.won; looks++, generation++) {
		found.word = mam_handle_home(&head, traits,
					     mam_handle_warp() + generation * mam_handle_warps(),
					     need.lanes)
				     .word +
			     (need.first >> round);
		if (found.word >= head.blocks << mam_traits_words_shift(traits))
			continue;
		seen = mam_slots_load(words, found.word);
		mine = mam_slots_lowest(mam_slots_all(traits), need.n);
		if (seen)
			found.won = mam_find_claim(words, found.word, seen, need.n, 0, traits);
		else
			found.won = mam_slab_open(heap, need.class_, found.word,
						  mam_slots_all(traits), mine);
		if (found.won)
			mam_handle_set(&head, need.class_, generation);
	}
	return found;
}

/* Step 2: the word of the class that the calling warp shares. */
MAM_KFN uint32_t *mam_find_shared(const struct mam_kheap *heap, uint32_t class_)
{
	uint32_t *rows = (uint32_t *)(mam_metadata_searches(heap) + 1);
	uint32_t width = heap->blocks >= 128 ? 64 - mam_clz64(heap->blocks / 64 - 1) : 0;

	/* As mam_metadata_shared(). */
	width = width < 4 ? 4 : width < 11 ? width : 11;
	return rows + ((class_ - 1) << width) + (mam_handle_warp() & ((1u << width) - 1));
}

/*
 * Step 2. Finds slots, or returns with `was` as the value of the word when the caller marked it as
 * busy, or MAM_SHARED_BUSY if another lane did and has not finished.
 */
MAM_KFN struct mam_kfind mam_find_known(const struct mam_kheap *heap, uint64_t traits,
					struct mam_kneed need, uint32_t *shared, uint32_t *was)
{
	uint32_t at = mam_atomic_load32(shared, MAM_RELAXED, MAM_AT_DEVICE), polls, old;
	uint64_t *words = mam_traits_words(heap, traits), seen;
	struct mam_kfind found;

	found.won = 0;
	found.word = 0;
	*was = MAM_SHARED_BUSY;
	MAM_ROLLED
	for (polls = 0; polls < MAM_FIND_POLLS; polls++) {
		found.word = (at & ~MAM_SHARED_BUSY) - 1;
		if (at & ~MAM_SHARED_BUSY) {
			seen = mam_slots_load(words, found.word);
			found.won = mam_find_claim(words, found.word, seen, need.n,
						   mam_handle_warp() * MAM_WALK_GOLDEN >> 16,
						   traits);
			if (found.won)
				return found;
		}
		if (at & MAM_SHARED_BUSY) {
			mam_nanosleep(500);
			at = mam_atomic_load32(shared, MAM_RELAXED, MAM_AT_DEVICE);
			continue;
		}
		old = mam_atomic_cas32(shared, at, at | MAM_SHARED_BUSY, MAM_RELAXED,
				       MAM_AT_DEVICE);
		if (old == at) {
			*was = at;
			return found;
		}
		at = old;
	}
	return found;
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
MAM_KFN struct mam_kfind mam_find_seen(const struct mam_kheap *heap, uint64_t traits,
				       struct mam_kneed need, uint32_t random)
{
	uint64_t *words = mam_traits_words(heap, traits), seen[MAM_FIND_WIDTH];
	uint32_t shift = mam_traits_words_shift(traits), count = heap->blocks << shift, i;
	uint32_t block = mam_find_hint(heap, need.class_, random);
	struct mam_kfind found;

	found.won = 0;
	found.word = (block << shift) + (mam_walk_mix(random) & ((1u << shift) - 1));
	found.word &= ~(MAM_FIND_WIDTH - 1);
	if (block == MAM_NO_WORD)
		return found;
	for (i = 0; i < MAM_FIND_WIDTH; i++)
		seen[i] = found.word + i < count ? mam_slots_load(words, found.word + i) : 0;
	for (i = 0; i < MAM_FIND_WIDTH && !found.won; i++)
		if (seen[i]) {
			found.won = mam_find_claim(words, found.word + i, seen[i], need.n, random,
						   traits);
			if (found.won)
				found.word += i;
		}
	return found;
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

/* Opens some groups of a slab, starting with this one. */
MAM_KFN uint64_t mam_find_groups(const struct mam_kheap *heap, uint64_t traits,
				 struct mam_kneed need, uint32_t word, uint32_t group)
{
	uint64_t slots = mam_find_slots(heap, traits, group, need.n);

	return mam_slab_open(heap, need.class_, word, slots, mam_slots_lowest(slots, need.n));
}

/* Opens groups of one slab, at this unit if possible, or in its block, which was `taken`. */
MAM_KSLOW struct mam_kfind mam_find_place(const struct mam_kheap *heap, uint64_t traits,
					struct mam_kneed need, uint32_t unit, uint64_t taken)
{
	struct mam_kfind found;
	uint32_t group = 0;

	found.won = 0;
	found.word = mam_pass_open(traits, unit / MAM_BLOCK_UNITS, taken, unit % MAM_BLOCK_UNITS,
				   &group);
	if (found.word == MAM_NO_WORD)
		return found;
	found.won = mam_find_groups(heap, traits, need, found.word, group);
	return found;
}

/*
 * A random block before the frontier: of a few, the fullest in which a group's units are free, as
 * `seen`. Returns its unit, or MAM_NO_PAGE.
 */
MAM_KFN uint32_t mam_find_block(const struct mam_kheap *heap, uint64_t traits, uint32_t edge,
				uint32_t random, uint64_t *seen)
{
	uint64_t *bits = mam_pages_bits(heap->units), taken[MAM_FIND_WIDTH];
	uint32_t at[MAM_FIND_WIDTH], i, best = MAM_NO_PAGE, most = 0;

	for (i = 0; i < MAM_FIND_WIDTH; i++) {
		at[i] = (uint32_t)((uint64_t)mam_walk_mix(random + i) * edge >> 32);
		taken[i] = mam_bitmap_load(bits, at[i] / MAM_BLOCK_UNITS);
	}
	for (i = 0; i < MAM_FIND_WIDTH; i++)
		if (mam_popc64(taken[i]) >= most &&
		    mam_bits_stretches(~taken[i], mam_traits_group_units(traits))) {
			most = mam_popc64(taken[i]);
			best = at[i];
			*seen = taken[i];
		}
	return best;
}

/* Step 4. */
MAM_KFN struct mam_kfind mam_find_open(const struct mam_kheap *heap, uint64_t traits,
				       struct mam_kneed need, uint32_t random)
{
	uint32_t *frontier = &mam_metadata_searches(heap)->frontier, edge, unit, tries;
	uint32_t end = heap->blocks * MAM_BLOCK_UNITS;
	struct mam_kfind found;
	uint64_t taken = 0;

	found.won = 0;
	found.word = 0;
	edge = mam_atomic_load32(frontier, MAM_RELAXED, MAM_AT_DEVICE);
	edge = edge < end ? edge : end;
	unit = mam_find_block(heap, traits, edge, random, &taken);
	MAM_ROLLED
	for (tries = 0;; tries++) {
		if (unit != MAM_NO_PAGE)
			found = mam_find_place(heap, traits, need, unit, taken);
		if (found.won)
			break;
		if (tries == MAM_FIND_OPENINGS || edge >= end)
			return found;
		/*
		 * At the frontier; then in the blocks that follow, which are empty unless homes or
		 * runs are there.
		 */
		if (!tries)
			unit = mam_atomic_add32(frontier, mam_traits_group_units(traits),
						MAM_RELAXED, MAM_AT_DEVICE);
		else
			unit = (unit | (MAM_BLOCK_UNITS - 1)) + 1;
		if (unit >= end)
			return found;
		taken = mam_bitmap_load(mam_pages_bits(heap->units), unit / MAM_BLOCK_UNITS);
	}
	/* Many blocks are occupied. */
	if (tries == MAM_FIND_OPENINGS)
		(void)mam_atomic_add32(frontier, MAM_BLOCK_UNITS, MAM_RELAXED, MAM_AT_DEVICE);
	if (!tries && !taken && edge > MAM_FIND_EDGE)
		(void)mam_atomic_cas32(frontier, edge, edge - MAM_BLOCK_UNITS, MAM_RELAXED,
				       MAM_AT_DEVICE);
	return found;
}

/* Step 5: closes the group of a random unit if all its slots are free, and opens one there. */
MAM_KFN struct mam_kfind mam_find_idle(const struct mam_kheap *heap, uint64_t traits,
				       struct mam_kneed need, uint32_t random)
{
	uint32_t unit = (uint32_t)((uint64_t)random * (heap->blocks * MAM_BLOCK_UNITS) >> 32);
	uint32_t owner = mam_owners_load_acquire(heap, unit), word, group;
	uint64_t *bits = mam_pages_bits(heap->units), of;
	struct mam_kfind found;

	found.won = 0;
	if (owner - 1 >= MAM_CLASSES)
		return found;
	of = mam_traits_of(owner);
	word = unit >> mam_traits_span_shift(of);
	group = mam_slab_group(of, word, unit);
	if (~mam_global_load64(&mam_traits_words(heap, of)[word], MAM_ACQUIRE, MAM_AT_DEVICE) &
	    mam_slab_group_slots(of, group))
		return found;
	if (!mam_slab_close(heap, owner, word, group))
		return found;
	return mam_find_place(heap, traits, need, unit,
			      mam_bitmap_load(bits, unit / MAM_BLOCK_UNITS));
}

/* Steps 3 to 5. */
MAM_KSLOW struct mam_kfind mam_find_anywhere(const struct mam_kheap *heap, struct mam_kneed need)
{
	uint64_t traits = mam_traits_of(need.class_);
	struct mam_kfind found;
	struct mam_kslot home;
	uint32_t looks;

	found.won = 0;
	found.word = 0;
	MAM_ROLLED
	for (looks = 0; looks < MAM_FIND_FIRST + MAM_FIND_LOOKS && !found.won; looks++) {
		if (looks == MAM_FIND_FIRST && need.lanes) {
			home = mam_handle_home(heap, traits, mam_handle_warp(), need.lanes);
			home.slot >>= mam_traits_group_shift(traits);
			if (home.word < heap->blocks << mam_traits_words_shift(traits))
				found.won = mam_find_groups(heap, traits, need, home.word,
							    home.slot);
			found.word = home.word;
		}
		if (looks == MAM_FIND_FIRST && !found.won)
			found = mam_find_open(heap, traits, need, mam_find_random(looks));
		if (!found.won)
			found = mam_find_seen(heap, traits, need, mam_find_random(looks));
	}
	MAM_STEPS_ADD(heap, looks, looks);
	MAM_ROLLED
	for (looks = 0; looks < MAM_FIND_IDLE && !found.won; looks++)
		found = mam_find_idle(heap, traits, need, mam_find_random(looks));
	return found;
}

/* Steps 1 to 5. No collectives. Finds at least one slot and at most `need.n`, or none. */
MAM_KSLOW struct mam_kfind mam_find(const struct mam_kheap *heap, struct mam_kneed need)
{
	uint64_t traits = mam_traits_of(need.class_);
	uint32_t *shared = mam_find_shared(heap, need.class_), was;
	struct mam_kfind found;

	found.won = 0;
	if (need.lanes >= MAM_FIND_FULL)
		found = mam_find_own(heap, traits, need);
	if (!found.won)
		found = mam_find_known(heap, traits, need, shared, &was);
	else
		return found;
	if (found.won)
		return found;
	found = mam_find_anywhere(heap, need);
	if (found.won)
		was = found.word + 1;
	if (found.won || was != MAM_SHARED_BUSY)
		mam_atomic_store32(shared, was, MAM_RELAXED, MAM_AT_DEVICE);
	return found;
}

#endif
