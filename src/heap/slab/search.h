/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.h - finds room for the requests of lanes that are active together: the claim at home,
 * which serves most requests, followed by one function that does everything else.
 *
 * 1. Claim: the lanes' home is tried blindly (handle.h).
 * 2. Find: lanes that want one class, of which none won at home, have a leader, which opens it
 *    (find.h). Then each lane looks for itself, if the lanes want different classes for a run
 *    (few.h). Then the lanes that want the same class have a leader, which searches alone; of
 *    different classes all leaders at once. The slots that a leader won are dealt out by rank. Where
 *    even that fails a lane with an object of several units tries a run once more.
 * 3. Scan: one class after the other, everything is scanned by all lanes (pass.h), or by those of
 *    another warp (scans.h). Where no group fits an object becomes a run.
 * 4. Runs by spans.h. Steps 2 to 4 are in one function, mam_roam(), which also grows the heap.
 *
 * Must hold: all code with collectives below mam_roam() is inlined into it. Split into functions
 * that are not inlined it was wrong on an H100: among lanes of a warp that had diverged, some got
 * objects that others had. nvcc 13.0 does not keep two groups of a warp apart in a function with
 * collectives that another function calls. Code without collectives may be split at will.
 */
#ifndef MAM_HEAP_SLAB_SEARCH_H
#define MAM_HEAP_SLAB_SEARCH_H

#include "heap/slab/glance.h"
#include "heap/slab/scans.h"

/* By each lane for itself: looks for a slot, or for a run. */
#define MAM_SEARCH_LOOKS 4u
#define MAM_SEARCH_RUNS 2u
#define MAM_SEARCH_PASSES 2u /* of a scan, before runs are taken where something changes hands */

/* Returns whether the search should stop early. The same in all lanes of `mask`. */
MAM_KFN bool mam_search_over(const struct mam_krequest *request)
{
	uint32_t now = request->was, stage = 0;

	if (!request->stage)
		return false;
	if (mam_lane() == mam_ffs32(request->mask) - 1) {
		now = (uint32_t)mam_atomic_load64(&request->root->current, MAM_RELAXED,
						  MAM_AT_DEVICE);
		stage = (uint32_t)mam_atomic_load64(request->stage, MAM_RELAXED, MAM_AT_DEVICE);
	}
	return mam_warp_ballot(request->mask, now != request->was || (stage & 255)) != 0;
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
 * that share a word claims for them.
 */
MAM_KFN struct mam_kslot mam_search_claim(const struct mam_kheap *heap, uint32_t mask,
					  uint64_t traits)
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
	if (!rank && mine.word < heap->blocks << mam_traits_words_shift(traits))
		lost = ~(uint32_t)(mam_slots_claim(mam_traits_words(heap, traits), mine.word,
						   mam_bits_span(mine.slot, lanes)) >>
				   mine.slot);
	lost = mam_warp_shuffle32(mask, lost, leader);
	mine.slot = lost >> rank & 1 ? MAM_NO_SLOT : mine.slot + rank;
	return mine;
}

/* Returns whether the lane still wants a slot. */
MAM_KFN bool mam_search_slotless(const struct mam_krequest *request)
{
	return !request->object &&
	       (request->mine.slot == MAM_NO_SLOT || request->mine.slot == MAM_SLOT_NONE);
}

/* Returns whether the lane's request is still open. */
MAM_KFN bool mam_search_wants(const struct mam_krequest *request)
{
	return !request->object && (request->units || request->mine.slot == MAM_SLOT_REFUSED ||
				    mam_search_slotless(request));
}

/* Step 2 by one lane of several that want one class: looks for a slot where the class was seen. */
MAM_KSLOW void mam_search_seek(struct mam_krequest *request)
{
	struct mam_kfind found =
		mam_find_seen(request->heap, mam_find_need(request->class_, 1, 0, 0),
			      mam_find_random(mam_lane()));

	if (!found.won)
		return;
	request->mine.word = found.word;
	request->mine.slot = mam_ffs64(found.won) - 1;
}

/* Step 2 by one lane: looks for a run in place of a slot. */
MAM_KSLOW void mam_search_run(struct mam_krequest *request)
{
	request->object = mam_few_take(request->heap, request->class_, mam_find_random(0));
	if (request->object)
		request->mine.slot = MAM_SLOT_DONE;
}

/* Step 2 by the leader of lanes that want one class: sets `found` from their home. */
MAM_KSLOW void mam_search_home(struct mam_krequest *request, uint32_t need)
{
	uint32_t full = mam_find_lanes(need) >= MAM_FIND_FULL, was, looks;

	was = full ? mam_handle_get(request->heap, mam_find_class(need)) : 0;
	MAM_ROLLED
	for (looks = 0; looks < (full ? MAM_FIND_OWN : 1) && !request->found.won; looks++)
		request->found = mam_find_own(request->heap, need, was++);
	if (full && request->found.won)
		mam_handle_set(request->heap, mam_find_class(need), was - 1);
	/* They may try again. */
	if (!request->found.won)
		request->found.word = MAM_SHARED_BUSY;
}

/*
 * The same, from anywhere. If it wins none, the word is MAM_SHARED_BUSY if it may try again, because
 * it has not searched.
 */
MAM_KSLOW void mam_search_lead(struct mam_krequest *request, uint32_t need, uint32_t polls)
{
	const struct mam_kheap *heap = request->heap;
	struct mam_kfind found = mam_find_known(heap, need);
	uint32_t was;

	if (!found.won && (found.word != MAM_SHARED_BUSY || polls >= MAM_FIND_POLLS)) {
		was = found.word;
		found = mam_find_anywhere(heap, need);
		mam_find_share(heap, mam_find_class(need), found, was);
		found.word = found.won ? found.word : 0;
	}
	request->found = found;
}

/* Step 2, by the leaders of lanes of `needy` that want the same class; deals out what they win. */
MAM_KFN void mam_search_share(struct mam_krequest *request, uint32_t needy, uint32_t lanes,
			      uint32_t polls)
{
	uint32_t group, rank, round, leader, n;
	struct mam_kfind found;

	group = mam_warp_match32(request->mask, needy >> mam_lane() & 1 ? request->class_ : 0);
	group &= needy;
	rank = mam_popc32(group & ((1u << mam_lane()) - 1));
	/* Lanes that one word cannot serve have several leaders. */
	round = 1u << mam_traits_round_shift(mam_traits_of(request->class_));
	leader = group ? mam_bits_nth(group, rank & ~(round - 1)) : mam_lane();
	request->found.won = 0;
	request->found.word = 0;
	if (group && mam_lane() == leader) {
		n = mam_popc32(group) - rank;
		n = mam_find_need(request->class_, n < round ? n : round, lanes, rank);
		if (lanes)
			mam_search_home(request, n);
		else
			mam_search_lead(request, n, polls);
	}
	mam_warp_sync(request->mask);
	found.won = mam_warp_shuffle64(request->mask, request->found.won, leader);
	found.word = mam_warp_shuffle32(request->mask, request->found.word, leader);
	round = 1u << mam_traits_round_shift(mam_traits_of(request->class_));
	rank = mam_popc32(group & ((1u << mam_lane()) - 1)) & (round - 1);
	if (group && !found.won && found.word != MAM_SHARED_BUSY) {
		request->mine.slot = MAM_SLOT_NONE;
	} else if (group && rank < mam_popc64(found.won)) {
		request->mine.slot = mam_slots_pick(found.won, rank);
		request->mine.word = found.word;
	}
	/* Leaders that have searched do not wait for others that have not. */
	if (!lanes && !mam_warp_ballot(request->mask, found.won != 0))
		mam_nanosleep(MAM_FIND_NS);
}

/* The lanes of `mask` whose slot is MAM_NO_SLOT. */
MAM_KFN uint32_t mam_search_needy(const struct mam_krequest *request)
{
	return mam_warp_ballot(request->mask, request->mine.slot == MAM_NO_SLOT);
}

/*
 * Step 2, for the lanes of `mask` whose slot is MAM_NO_SLOT; sets MAM_SLOT_NONE if none was found.
 */
MAM_KFN void mam_search_find(struct mam_krequest *request)
{
	uint32_t needy = mam_search_needy(request), one, turn;
	bool mixed;

	one = mam_warp_shuffle32(request->mask, request->class_, mam_ffs32(request->mask) - 1);
	mixed = mam_warp_ballot(request->mask, request->class_ != one) != 0;
	if (needy == request->mask && !mixed)
		mam_search_share(request, needy, mam_popc32(request->mask), 0);
	MAM_ROLLED
	for (turn = 0; turn < (mixed ? MAM_SEARCH_RUNS : MAM_SEARCH_LOOKS) && needy; turn++) {
		if (request->mine.slot == MAM_NO_SLOT) {
			if (!mixed)
				mam_search_seek(request);
			else if (mam_few_suits(mam_traits_of(request->class_)))
				mam_search_run(request);
		}
		mam_warp_sync(request->mask);
		needy = mam_search_needy(request);
	}
	MAM_ROLLED
	for (turn = 0; needy; turn++) {
		mam_search_share(request, needy, 0, turn);
		needy = mam_search_needy(request);
		if (mam_search_over(request))
			break;
	}
	MAM_ROLLED
	for (turn = 0; mixed && turn < MAM_SEARCH_RUNS; turn++) {
		if (request->mine.slot == MAM_SLOT_NONE && request->class_ > MAM_FIND_SMALL)
			mam_search_run(request);
		mam_warp_sync(request->mask);
	}
}

/* A lane's look in a scan for a class: sets `word` or `unit` if there is room, and `doubt`. */
MAM_KSLOW void mam_search_check(struct mam_krequest *request, uint32_t class_, uint32_t block)
{
	struct mam_klook look = mam_pass_block(request->heap, class_, block);

	request->word = look.word;
	request->doubt |= look.doubt;
	if (look.unit != MAM_NO_PAGE)
		request->spare = look.unit;
}

/*
 * Takes what the caller's look found, for at most `n` lanes: sets `found`, or `unit` to that of a
 * run for one lane.
 */
MAM_KSLOW void mam_search_take(struct mam_krequest *request, uint32_t class_, uint32_t n)
{
	const struct mam_kheap *heap = request->heap;
	uint64_t traits = mam_traits_of(class_), *word;
	uint32_t units = mam_pass_units(traits);
	struct mam_kslot place;

	if (request->word == MAM_NO_WORD) {
		request->unit =
			mam_runs_take_within(heap->units, request->unit / MAM_BLOCK_UNITS, units);
		if (request->unit != MAM_NO_PAGE)
			mam_spans_own(heap, request->unit, units);
		request->spare = MAM_NO_PAGE;
		return;
	}
	word = &mam_traits_words(heap, traits)[request->word];
	request->found.word = request->word;
	request->found.won = mam_find_claim(word, mam_slots_load(word, 0), n, mam_find_random(0));
	if (request->found.won)
		return;
	place = mam_find_place(heap, class_, mam_slab_unit(traits, request->word));
	request->found.word = place.word;
	request->found.won =
		mam_find_groups(heap, mam_find_need(class_, n, 0, 0), place.word, place.slot);
}

/*
 * Before scans by the lanes of `mask`: draws their number, known to their leader alone. Objects that
 * the host frees are in the root's ring.
 */
MAM_KFN void mam_search_since(struct mam_krequest *request)
{
	if (!request->stage)
		mam_returns_drain_lone(request->root);
	/* The draw releases what all lanes have freed. */
	mam_warp_sync(request->mask);
	if (mam_lane() == mam_ffs32(request->mask) - 1)
		request->since = mam_scans_draw(request->heap);
}

/* The next blocks of a scan, 1 << `shift` of them. */
MAM_KFN void mam_search_next(struct mam_krequest *request, uint32_t shift)
{
	uint32_t next = request->next;

	request->block = mam_tour_next(request->heap->blocks, shift, request->order, &next);
	request->next = next;
}

/* Gives room that lane `who` took to lanes of `needy`. */
MAM_KFN void mam_search_deal(struct mam_krequest *request, uint32_t needy, uint32_t class_,
			     uint32_t who)
{
	struct mam_kfind found;
	uint32_t unit, rank = mam_popc32(needy & ((1u << mam_lane()) - 1));

	found.won = mam_warp_shuffle64(request->mask, request->found.won, who);
	found.word = mam_warp_shuffle32(request->mask, request->found.word, who);
	unit = mam_warp_shuffle32(request->mask, request->unit, who);
	if (!(needy >> mam_lane() & 1))
		return;
	if (rank < mam_popc64(found.won))
		request->object = mam_metadata_at(request->heap, class_, found.word,
						  mam_slots_pick(found.won, rank));
	else if (!rank && unit != MAM_NO_PAGE)
		request->object = request->heap->space + ((uint64_t)unit << MAM_UNIT_SHIFT);
}

/*
 * Step 3, by all lanes of `mask`, for those of `needy`, which want this class. Sets `object` of each
 * lane that gets one. pre: mam_search_since().
 */
MAM_KFN void mam_search_scan(struct mam_krequest *request, uint32_t needy, uint32_t class_)
{
	uint32_t shift = 63 - mam_clz64(mam_popc32(request->mask)), rank, passes, ready;

	request->turn = MAM_SCANS_VAIN;
	if (mam_lane() == mam_ffs32(request->mask) - 1) {
		request->turn = mam_scans_wait(request->heap, class_, request->since,
					       request->heap->blocks >> shift);
		request->ticket =
			request->turn == MAM_SCANS_VAIN ? 0 : mam_scans_draw(request->heap);
	}
	/* All lanes see what the leader has acquired. */
	mam_warp_sync(request->mask);
	request->turn =
		mam_warp_shuffle32(request->mask, request->turn, mam_ffs32(request->mask) - 1);
	request->order = mam_warp_shuffle32(request->mask, mam_walk_mix((uint32_t)mam_clock()),
					    mam_ffs32(request->mask) - 1);
	MAM_ROLLED
	for (passes = 0; request->turn != MAM_SCANS_VAIN && passes < MAM_PASSES_MAX; passes++) {
		if (mam_lane() == mam_ffs32(request->mask) - 1)
			MAM_STEPS_ADD(request->heap, passes, 1);
		request->doubt = 0;
		request->next = 0;
		request->spare = MAM_NO_PAGE;
		mam_search_next(request, shift);
		MAM_ROLLED
		while (needy) {
			request->word = MAM_NO_WORD;
			request->unit = MAM_NO_PAGE;
			rank = mam_popc32(request->mask & ((1u << mam_lane()) - 1));
			if (request->block == MAM_TOUR_END) {
				/*
				 * Runs are the last resort: units that are changing hands may
				 * become a group. A block may have room for several.
				 */
				if (passes >= MAM_SEARCH_PASSES ||
				    !mam_warp_ballot(request->mask, request->doubt & 1))
					request->unit = request->spare;
				request->doubt |= request->spare != MAM_NO_PAGE ? 2 : 0;
			} else if (rank < 1u << shift &&
				   request->block + rank < request->heap->blocks) {
				mam_search_check(request, class_, request->block + rank);
			}
			mam_warp_sync(request->mask);
			ready = mam_warp_ballot(request->mask,
						request->word != MAM_NO_WORD ||
							request->unit != MAM_NO_PAGE);
			if (!ready && request->block == MAM_TOUR_END)
				break;
			if (!ready) {
				mam_search_next(request, shift);
				continue;
			}
			/* The first lane that found room, as long as there is some. */
			ready = mam_ffs32(ready) - 1;
			request->found.won = 0;
			if (mam_lane() == ready)
				mam_search_take(request, class_, mam_popc32(needy));
			else
				request->unit = MAM_NO_PAGE;
			mam_warp_sync(request->mask);
			mam_search_deal(request, needy, class_, ready);
			needy &= mam_warp_ballot(request->mask, !request->object);
		}
		/* The scan was complete, even if it also served some lanes: no other one gets more. */
		if (!needy || !mam_warp_ballot(request->mask, request->doubt != 0))
			break;
		mam_scan_pause(passes);
	}
	if (mam_lane() == mam_ffs32(request->mask) - 1 && request->turn != MAM_SCANS_VAIN)
		mam_scans_end(request->heap, class_, request->turn,
			      needy && passes < MAM_PASSES_MAX ? request->ticket : 0);
	if (mam_lane() == mam_ffs32(request->mask) - 1 && !request->stage && needy)
		mam_object_tally_add(request->heap,
				     passes < MAM_PASSES_MAX ? MAM_OBJECT_FULL
							     : MAM_OBJECT_CONTENDED,
				     mam_popc32(needy));
}

/*
 * Steps 2 to 4 in the root or in one part, for the lanes of `mask`, some of which have an open
 * request.
 */
MAM_KFN void mam_search_look(struct mam_krequest *request)
{
	uint32_t one, needy;

	if (!request->all || !request->stage)
		mam_search_find(request);
	/* One number for all classes: scans of other warps for the next class begin meanwhile. */
	if (request->all && mam_warp_ballot(request->mask, mam_search_slotless(request)))
		mam_search_since(request);
	if (request->mine.slot < MAM_NO_SLOT)
		request->object = mam_metadata_at(request->heap, request->class_,
						  request->mine.word, request->mine.slot);
	MAM_ROLLED
	while (request->all &&
	       (needy = mam_warp_ballot(request->mask, mam_search_slotless(request))) != 0) {
		one = mam_warp_shuffle32(request->mask, request->class_, mam_ffs32(needy) - 1);
		needy = mam_warp_ballot(request->mask, request->class_ == one) & needy;
		mam_search_scan(request, needy, one);
		/* A failed scan is not repeated here. */
		if (needy >> mam_lane() & 1 && !request->object)
			request->mine.slot = MAM_SLOT_REFUSED;
	}
	if (request->object)
		request->mine.slot = MAM_SLOT_DONE;
	needy = mam_warp_ballot(request->mask,
				request->units && !request->object &&
					request->units <= request->heap->blocks * MAM_BLOCK_UNITS);
	if (needy && !request->all && mam_search_over(request))
		needy = 0;
	request->runs_mask = needy;
	if (needy >> mam_lane() & 1)
		mam_spans_take(request);
	mam_warp_sync(request->mask);
}

#endif
