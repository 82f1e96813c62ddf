/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.h - finds room for the requests of lanes that are active together: the claim at home,
 * which serves most requests, followed by one function that does everything else.
 *
 * 1. Claim: the lanes' home is tried blindly (handle.h).
 * 2. Open: if no lane got a slot, the slab at home is opened if its units are free, and claimed.
 * 3. Find: the lanes that want the same class have a leader, which searches alone (find.h); of
 *    different classes all leaders at once. The slots that it won are dealt out by rank.
 * 4. Scan: one class after the other, everything is scanned by all lanes (pass.h), or by those of
 *    another warp (scans.h). Where no group fits an object becomes a run.
 * 5. Runs by spans.h. A heap that grows has a function of its own for 2 to 5: roam.h.
 *
 * Must hold: all code with collectives below mam_search() is inlined into it. Split into functions
 * that are not inlined it was wrong on an H100: among lanes of a warp that had diverged, some got
 * objects that others had. nvcc 13.0 does not keep two groups of a warp apart in a function with
 * collectives that another function calls. Code without collectives may be split at will.
 */
#ifndef MAM_HEAP_SLAB_SEARCH_H
#define MAM_HEAP_SLAB_SEARCH_H

#include "heap/slab/scans.h"
#include "heap/slab/spans.h"

#define MAM_RECLAIM_TRIES 4

/* Returns whether the search should stop early. The same in all lanes of `mask`. */
MAM_KFN bool mam_search_over(struct mam_kheap *root, uint32_t mask, struct mam_keffort effort)
{
	uint32_t now = effort.was, stage = 0;

	if (!effort.stage)
		return false;
	if (mam_lane() == mam_ffs32(mask) - 1) {
		now = (uint32_t)mam_atomic_load64(&root->current, MAM_RELAXED, MAM_AT_DEVICE);
		stage = (uint32_t)mam_atomic_load64(effort.stage, MAM_RELAXED, MAM_AT_DEVICE);
	}
	return mam_warp_ballot(mask, now != effort.was || (stage & 255)) != 0;
}

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
 * that share a word claims for them, unless it has already won some of their slots: `won`.
 */
MAM_KFN struct mam_kslot mam_search_claim(const struct mam_kheap *heap, uint32_t mask,
					  uint64_t traits, uint64_t won)
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
	if (won)
		lost = ~(uint32_t)(won >> mine.slot);
	else if (!rank && mine.word < heap->blocks << mam_traits_words_shift(traits))
		lost = ~(uint32_t)(mam_slots_claim(mam_traits_words(heap, traits), mine.word,
						   mam_bits_span(mine.slot, lanes)) >>
				   mine.slot);
	lost = mam_warp_shuffle32(mask, lost, leader);
	mine.slot = lost >> rank & 1 ? MAM_NO_SLOT : mine.slot + rank;
	return mine;
}

/*
 * Step 2: no lane of a full warp has a slot, so the home may not be open yet. Opens the slab, and
 * claims again. The same class in all lanes of `mask`.
 */
MAM_KFN struct mam_kslot mam_search_open(const struct mam_kheap *heap, uint32_t mask,
					 uint32_t class_)
{
	const struct mam_kheap head = mam_head_read(heap);
	uint32_t lanes = mam_popc32(mask), rank = mam_popc32(mask & ((1u << mam_lane()) - 1)),
		 tries;
	uint64_t traits = mam_traits_of(class_), slots = mam_slots_all(traits), own;
	uint32_t round = 1u << mam_traits_round_shift(traits), word, share;
	struct mam_kslot home = mam_handle_home(&head, traits, mam_handle_warp(), lanes), mine;
	bool later;

	word = home.word + rank / round;
	share = lanes - rank < round ? lanes - rank : round;
	MAM_ROLLED
	for (tries = 0; tries < MAM_RECLAIM_TRIES; tries++) {
		own = 0;
		later = false;
		if (!(rank % round) && word < head.blocks << mam_traits_words_shift(traits) &&
		    !(mam_slots_load(mam_traits_words(&head, traits), word) & slots)) {
			own = mam_slab_open(heap, class_, word, slots,
					    mam_bits_span(home.slot, share));
			later = !own && mam_slab_opens(heap, class_, traits, word, home.slot);
		}
		mine = mam_search_claim(&head, mask, traits, own);
		if (!mam_warp_ballot(mask, later) ||
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

/* Returns whether the lane still wants a slot. */
MAM_KFN bool mam_search_slotless(struct mam_kwish wish)
{
	return !wish.object && (wish.mine.slot == MAM_NO_SLOT || wish.mine.slot == MAM_SLOT_NONE);
}

/* Returns whether the lane's request is still open. */
MAM_KFN bool mam_search_wants(struct mam_kwish wish)
{
	return !wish.object &&
	       (wish.units || wish.mine.slot == MAM_SLOT_REFUSED || mam_search_slotless(wish));
}

/*
 * Step 3 by the leader of lanes that want one class. If it wins none, `word` is MAM_SHARED_BUSY if
 * it may try again, because it has not searched.
 */
MAM_KFN struct mam_kfind mam_search_lead(const struct mam_kheap *heap, uint32_t need,
					 uint32_t polls)
{
	struct mam_kfind found;
	uint32_t looks, was;

	found.won = 0;
	found.word = 0;
	if (!polls && mam_find_lanes(need) >= MAM_FIND_FULL) {
		was = mam_handle_get(heap, mam_find_class(need));
		MAM_ROLLED
		for (looks = 0; looks < MAM_FIND_OWN && !found.won; looks++)
			found = mam_find_own(heap, need, was++);
		if (found.won) {
			mam_handle_set(heap, mam_find_class(need), was - 1);
			return found;
		}
	}
	found = mam_find_known(heap, need);
	if (!found.won && (found.word != MAM_SHARED_BUSY || polls >= MAM_FIND_POLLS)) {
		was = found.word;
		found = mam_find_anywhere(heap, need);
		mam_find_share(heap, mam_find_class(need), found, was);
		found.word = found.won ? found.word & ~MAM_SHARED_BUSY : 0;
	}
	return found;
}

/*
 * Step 3, for the lanes of `mask` whose slot is MAM_NO_SLOT; sets MAM_SLOT_NONE if none was found.
 */
MAM_KFN struct mam_kslot mam_search_find(struct mam_kheap *root, const struct mam_kheap *heap,
					 uint32_t mask, uint32_t class_, struct mam_keffort effort,
					 struct mam_kslot mine)
{
	uint32_t needy, group, rank, round, lanes, leader, from, polls = 0;
	struct mam_kfind found;

	needy = mam_warp_ballot(mask, mine.slot == MAM_NO_SLOT);
	leader = mam_warp_shuffle32(mask, class_, mam_ffs32(mask) - 1);
	/* Of a warp that wants one class: its lanes. */
	lanes = mam_warp_ballot(mask, class_ != leader) ? 0 : mam_popc32(mask);
	MAM_ROLLED
	while (needy) {
		from = needy >> mam_lane() & 1 ? class_ : 0;
		group = mam_warp_match32(mask, from);
		group &= needy;
		rank = mam_popc32(group & ((1u << mam_lane()) - 1));
		/* Lanes that one word cannot serve have several leaders. */
		round = 1u << mam_traits_round_shift(mam_traits_of(class_));
		leader = group ? mam_bits_nth(group, rank & ~(round - 1)) : mam_lane();
		found.won = 0;
		found.word = 0;
		if (group && mam_lane() == leader) {
			from = mam_popc32(group) - rank;
			found = mam_search_lead(
				heap,
				mam_find_need(class_, from < round ? from : round, lanes, rank),
				polls);
		}
		mam_warp_sync(mask);
		found.won = mam_warp_shuffle64(mask, found.won, leader);
		found.word = mam_warp_shuffle32(mask, found.word, leader);
		rank = mam_popc32(group & ((1u << mam_lane()) - 1)) & (round - 1);
		if (group && !found.won && found.word != MAM_SHARED_BUSY) {
			mine.slot = MAM_SLOT_NONE;
		} else if (group && rank < mam_popc64(found.won)) {
			mine.slot = mam_slots_pick(found.won, rank);
			mine.word = found.word;
		}
		needy = mam_warp_ballot(mask, mine.slot == MAM_NO_SLOT);
		if (!needy || mam_search_over(root, mask, effort))
			break;
		/* Leaders that have searched do not wait for others that have not. */
		if (!mam_warp_ballot(mask, found.won != 0))
			mam_nanosleep(MAM_FIND_NS);
		polls++;
	}
	return mine;
}

/* Where a scan found room for one lane or several. */
struct mam_kroom {
	struct mam_kfind slots;
	uint32_t unit; /* of a run for one lane; or MAM_NO_PAGE */
};

/* Takes what a look found, for at most `n` lanes. */
MAM_KSLOW struct mam_kroom mam_search_take(const struct mam_kheap *heap, uint32_t class_,
					   struct mam_klook look, uint32_t n)
{
	uint64_t traits = mam_traits_of(class_), *word;
	uint32_t units = mam_pass_units(traits);
	struct mam_kslot place;
	struct mam_kroom room;

	room.unit = MAM_NO_PAGE;
	room.slots.won = 0;
	room.slots.word = look.word;
	if (look.word == MAM_NO_WORD) {
		room.unit = mam_runs_take_within(heap->units, look.unit / MAM_BLOCK_UNITS, units);
		if (room.unit != MAM_NO_PAGE)
			mam_spans_own(heap, room.unit, units);
		return room;
	}
	word = &mam_traits_words(heap, traits)[look.word];
	room.slots.won = mam_find_claim(word, mam_slots_load(word, 0), n, mam_find_random(0));
	if (room.slots.won)
		return room;
	place = mam_find_place(heap, class_, mam_slab_unit(traits, look.word));
	room.slots.word = place.word;
	room.slots.won =
		mam_find_groups(heap, mam_find_need(class_, n, 0, 0), place.word, place.slot);
	return room;
}

/*
 * Before scans by the lanes of `mask`: draws their number, known to their leader alone; not 0.
 * Objects that the host frees are in the root's ring.
 */
MAM_KFN uint64_t mam_search_since(struct mam_kheap *root, const struct mam_kheap *heap,
				  uint32_t mask, struct mam_keffort effort)
{
	if (!effort.stage)
		mam_returns_drain_lone(root);
	/* The draw releases what all lanes have freed. */
	mam_warp_sync(mask);
	return mam_lane() == mam_ffs32(mask) - 1 ? mam_scans_draw(heap) : 1;
}

/*
 * Step 4, by all lanes of `mask`, for those of `needy`, which want this class. Sets `wish.object` of
 * each lane that gets one. `since`: from mam_search_since().
 */
MAM_KFN struct mam_kwish mam_search_scan(struct mam_kheap *heap, uint32_t mask, uint32_t needy,
					 uint32_t class_, struct mam_keffort effort, uint64_t since,
					 struct mam_kwish wish)
{
	uint32_t rank = mam_popc32(mask & ((1u << mam_lane()) - 1)), next, block, passes, doubt;
	uint32_t shift = 63 - mam_clz64(mam_popc32(mask)), leader = mam_ffs32(mask) - 1;
	uint32_t ready, who, turn = MAM_SCANS_VAIN, spare;
	volatile uint32_t order; /* not in a register: a kernel's count of them includes these */
	struct mam_klook look;
	struct mam_kroom room;

	if (mam_lane() == leader) {
		turn = mam_scans_wait(heap, class_, since, heap->blocks >> shift);
		since = turn == MAM_SCANS_VAIN ? 0 : mam_scans_draw(heap);
	}
	/* All lanes see what the leader has acquired. */
	mam_warp_sync(mask);
	turn = mam_warp_shuffle32(mask, turn, leader);
	order = mam_warp_shuffle32(mask, mam_walk_mix((uint32_t)mam_clock()), leader);
	MAM_ROLLED
	for (passes = 0; turn != MAM_SCANS_VAIN && passes < MAM_PASSES_MAX; passes++) {
		if (mam_lane() == leader)
			MAM_STEPS_ADD(heap, passes, 1);
		doubt = 0;
		next = 0;
		spare = MAM_NO_PAGE;
		block = mam_tour_next(heap->blocks, shift, order, &next);
		MAM_ROLLED
		while (needy) {
			look.word = MAM_NO_WORD;
			look.unit = MAM_NO_PAGE;
			look.doubt = 0;
			if (block == MAM_TOUR_END) {
				/* Runs are the last resort; a block may have room for several. */
				look.unit = spare;
				doubt |= spare != MAM_NO_PAGE;
			} else if (rank < 1u << shift && block + rank < heap->blocks) {
				look = mam_pass_block(heap, class_, block + rank);
				doubt |= look.doubt;
				spare = look.unit == MAM_NO_PAGE ? spare : look.unit;
				look.unit = MAM_NO_PAGE;
			}
			mam_warp_sync(mask);
			ready = mam_warp_ballot(mask, look.word != MAM_NO_WORD ||
							      look.unit != MAM_NO_PAGE);
			if (!ready && block == MAM_TOUR_END)
				break;
			if (!ready) {
				block = mam_tour_next(heap->blocks, shift, order, &next);
				continue;
			}
			/* The first lane that found room, as long as there is some. */
			who = mam_ffs32(ready) - 1;
			room.slots.won = 0;
			room.slots.word = 0;
			room.unit = MAM_NO_PAGE;
			if (mam_lane() == who) {
				room = mam_search_take(heap, class_, look, mam_popc32(needy));
				spare = look.unit == MAM_NO_PAGE ? spare : MAM_NO_PAGE;
			}
			mam_warp_sync(mask);
			room.slots.won = mam_warp_shuffle64(mask, room.slots.won, who);
			room.slots.word = mam_warp_shuffle32(mask, room.slots.word, who);
			room.unit = mam_warp_shuffle32(mask, room.unit, who);
			who = mam_popc32(needy & ((1u << mam_lane()) - 1));
			if (needy >> mam_lane() & 1 && who < mam_popc64(room.slots.won))
				wish.object = mam_metadata_at(heap, class_, room.slots.word,
							      mam_slots_pick(room.slots.won, who));
			else if (needy >> mam_lane() & 1 && !who && room.unit != MAM_NO_PAGE)
				wish.object = heap->space + ((uint64_t)room.unit << MAM_UNIT_SHIFT);
			needy = mam_warp_ballot(mask, !wish.object) & needy;
		}
		/* The scan was complete, even if it also served some lanes: no other one gets more. */
		if (!needy || !mam_warp_ballot(mask, doubt != 0))
			break;
		mam_scan_pause(passes);
	}
	if (mam_lane() == leader) {
		if (turn != MAM_SCANS_VAIN)
			mam_scans_end(heap, class_, turn,
				      needy && passes < MAM_PASSES_MAX ? since : 0);
		if (!effort.stage && needy)
			mam_object_tally_add(heap,
					     passes < MAM_PASSES_MAX ? MAM_OBJECT_FULL
								     : MAM_OBJECT_CONTENDED,
					     mam_popc32(needy));
	}
	return wish;
}

/*
 * Steps 2 to 5 in the root or in one part, for the lanes of `mask`, some of which have an open
 * request.
 */
MAM_KFN struct mam_kwish mam_search_look(struct mam_kheap *root, struct mam_kheap *heap,
					 uint32_t mask, struct mam_keffort effort,
					 struct mam_kwish wish)
{
	uint32_t one = mam_warp_shuffle32(mask, wish.class_, mam_ffs32(mask) - 1), large, needy;
	uint64_t since;
	bool looks = !effort.all || !effort.stage;

	if (looks && mam_popc32(mask) >= MAM_FIND_FULL &&
	    !mam_warp_ballot(mask, wish.mine.slot != MAM_NO_SLOT || wish.class_ != one))
		wish.mine = mam_search_open(heap, mask, wish.class_);
	if (looks)
		wish.mine = mam_search_find(root, heap, mask, wish.class_, effort, wish.mine);
	if (wish.mine.slot < MAM_NO_SLOT)
		wish.object = mam_metadata_at(heap, wish.class_, wish.mine.word, wish.mine.slot);
	MAM_ROLLED
	while (effort.all && (needy = mam_warp_ballot(mask, mam_search_slotless(wish))) != 0) {
		one = mam_warp_shuffle32(mask, wish.class_, mam_ffs32(needy) - 1);
		needy = mam_warp_ballot(mask, wish.class_ == one) & needy;
		since = mam_search_since(root, heap, mask, effort);
		wish = mam_search_scan(heap, mask, needy, one, effort, since, wish);
		/* A failed scan is not repeated here. */
		if (needy >> mam_lane() & 1 && !wish.object)
			wish.mine.slot = MAM_SLOT_REFUSED;
	}
	if (wish.object)
		wish.mine.slot = MAM_SLOT_DONE;
	large = mam_warp_ballot(mask, wish.units && !wish.object &&
					      wish.units <= heap->blocks * MAM_BLOCK_UNITS);
	if (large && !effort.all && mam_search_over(root, mask, effort))
		large = 0;
	if (large >> mam_lane() & 1)
		wish.object = mam_spans_take(root, heap, large, wish.units, effort);
	mam_warp_sync(mask);
	return wish;
}

/*
 * mam_search - steps 2 to 5, for the lanes of `mask`, which must be the active lanes that use this
 * heap. `mine` is the caller's slot, if it has one.
 */
MAM_KSLOW void *mam_search(struct mam_kheap *heap, uint32_t mask, size_t bytes,
			   struct mam_kslot mine)
{
	struct mam_keffort effort = { true, NULL, 0 };
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
