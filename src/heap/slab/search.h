/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.h - finds room for the requests of lanes that are active together: the claim at home,
 * which serves most requests, followed by one function that does everything else.
 *
 * 1. Claim: the lanes' home is tried blindly (handle.h).
 * 2. Find: lanes that want one class, none of which won at home or whose part of it is not open,
 *    have a leader, which opens it (find.h). Then each lane looks for itself, for a run if the lanes
 *    want different classes (few.h). Then the lanes that want the same class have a leader, which
 *    searches alone; of different classes all leaders at once. The slots that a leader won are dealt
 *    out by rank. Where even that fails a lane with an object of several units tries a run once more.
 * 3. Scan: everything is scanned by all warps that found no room, together (scans.h). Where no group
 *    fits an object becomes a run. If the class has no room at all, a slot of a larger class serves
 *    the request.
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
#define MAM_SEARCH_DOUBTS 4u  /* looks at a block */
#define MAM_SEARCH_TAKES 2u   /* by a warp in one piece */
#define MAM_SEARCH_SHARED 64u /* scans with others, before a warp scans alone */
#define MAM_SEARCH_SCANS 200u

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

/* Step 2 by one lane: looks for a slot of a larger class, which it has from then on if it wins one. */
MAM_KSLOW void mam_search_larger(struct mam_krequest *request)
{
	uint32_t class_ = request->class_, larger, looks;

	larger = mam_scans_larger(request->heap, class_);
	if (!larger)
		return;
	request->class_ = larger;
	MAM_ROLLED
	for (looks = 0; looks < MAM_SEARCH_LOOKS && request->mine.slot == MAM_NO_SLOT; looks++)
		mam_search_seek(request);
	if (request->mine.slot == MAM_NO_SLOT)
		request->class_ = class_;
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
	uint32_t full = mam_find_lanes(need) >= MAM_FIND_FULL, was, looks, tries;
	bool known = true;

	was = full ? mam_handle_get(request->heap, mam_find_class(need)) : 0;
	if (was == MAM_NO_WORD) {
		known = false;
		was = 0;
	}
	MAM_ROLLED
	for (looks = 0; looks < (full ? MAM_FIND_OWN : 1) && !request->found.won; looks++) {
		MAM_ROLLED
		for (tries = 0; tries < MAM_FIND_AGAIN && !request->found.won; tries++) {
			request->found = mam_find_own(request->heap, need, was + looks);
			if (request->found.won || request->found.word == MAM_NO_WORD)
				break;
			request->found = mam_find_reopen(request->heap, need, was + looks, !known);
		}
	}
	if (full && (request->found.won || !known))
		mam_handle_set(request->heap, mam_find_class(need),
			       request->found.won ? was + looks - 1 : was);
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
	uint32_t group, rank, round, word, leader, n;
	struct mam_kfind found;

	/* Lanes that one word cannot serve have several leaders. */
	round = mam_traits_round_shift(mam_traits_of(request->class_));
	word = lanes ? mam_popc32(request->mask & ((1u << mam_lane()) - 1)) >> round : 0;
	group = needy >> mam_lane() & 1 ? request->class_ | word << 8 : 0;
	group = mam_warp_match32(request->mask, group) & needy;
	rank = mam_popc32(group & ((1u << mam_lane()) - 1));
	leader = group ? mam_bits_nth(group, rank >> round << round) : mam_lane();
	request->found.won = 0;
	request->found.word = 0;
	if (group && mam_lane() == leader) {
		n = mam_popc32(group) - rank;
		n = n < 1u << round ? n : 1u << round;
		n = mam_find_need(request->class_, n, lanes, lanes ? word << round : rank);
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
 * Returns whether the home has no open group for some lane of `mask` that wants a slot, all of which
 * want one class; or whether all lanes want one.
 */
MAM_KFN bool mam_search_homeless(const struct mam_krequest *request)
{
	uint32_t needy = mam_search_needy(request), rank;
	uint64_t traits = mam_traits_of(request->class_);
	struct mam_kslot home;
	bool closed = false;

	if (needy == request->mask)
		return true;
	home = mam_handle_home(request->heap, traits, mam_handle_warp(), mam_popc32(request->mask));
	rank = mam_popc32(request->mask & ((1u << mam_lane()) - 1));
	home.word += rank >> mam_traits_round_shift(traits);
	home.slot += rank & ((1u << mam_traits_round_shift(traits)) - 1);
	if (needy >> mam_lane() & 1 && home.word < request->heap->blocks
							   << mam_traits_words_shift(traits))
		closed = mam_slab_owner(request->heap, traits, home.word, home.slot % 64) !=
			 request->class_;
	return mam_warp_ballot(request->mask, closed) != 0;
}

/*
 * Step 2, for the lanes of `mask` whose slot is MAM_NO_SLOT; sets MAM_SLOT_NONE if none was found.
 */
MAM_KFN void mam_search_find(struct mam_krequest *request)
{
	uint32_t needy = mam_search_needy(request), one, turn;
	bool mixed, dry;

	one = mam_warp_shuffle32(request->mask, request->class_, mam_ffs32(request->mask) - 1);
	mixed = mam_warp_ballot(request->mask, request->class_ != one) != 0;
	if (!mixed && mam_search_homeless(request))
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
	/* Of a heap that grows, parts.h knows what is dry. Objects may have been freed since. */
	dry = !request->stage && request->mine.slot == MAM_NO_SLOT &&
	      mam_scans_dry(request->heap, request->class_);
	MAM_ROLLED
	for (turn = 0; turn <= MAM_SEARCH_LOOKS && mam_warp_ballot(request->mask, dry); turn++) {
		if (dry && turn < MAM_SEARCH_LOOKS)
			mam_search_seek(request);
		else if (dry)
			mam_search_larger(request);
		dry = dry && request->mine.slot == MAM_NO_SLOT;
		mam_warp_sync(request->mask);
	}
	request->mine.slot = dry ? MAM_SLOT_NONE : request->mine.slot;
	needy = mam_search_needy(request);
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

/*
 * A lane's part in a piece of a scan: looks at every `step`-th block from `block` to before `end`, and
 * stops at one with room for a class that the warp wants, which `word` and `room` say. Sets `doubt`
 * if there may be more room, and `spare` if there is room for a run.
 */
MAM_KSLOW void mam_search_check(struct mam_krequest *request, uint32_t step)
{
	struct mam_klook look;
	uint32_t looks = 0;

	MAM_ROLLED
	while (request->block < request->end) {
		look = mam_pass_block(request->heap, &request->wanted, request->block);
		if (look.word != MAM_NO_WORD) {
			request->word = look.word;
			request->room = look.class_;
			return;
		}
		if (look.doubt && ++looks < MAM_SEARCH_DOUBTS)
			continue;
		if (look.unit != MAM_NO_PAGE)
			request->spare = request->block;
		request->doubt |= look.doubt;
		request->block += step;
		looks = 0;
	}
}

/*
 * Takes room for at most `n` lanes in `word`: sets `found`; or, if that is MAM_NO_WORD, a run in the
 * block of `unit`, for one lane: sets `unit`.
 */
MAM_KSLOW void mam_search_take(struct mam_krequest *request, uint32_t class_, uint32_t n)
{
	const struct mam_kheap *heap = request->heap;
	uint64_t traits = mam_traits_of(class_), *word;
	uint32_t units = mam_pass_units(traits);
	struct mam_kslot place;

	request->found.won = 0;
	if (request->word == MAM_NO_WORD) {
		request->unit =
			mam_runs_take_within(heap->units, request->unit / MAM_BLOCK_UNITS, units);
		if (request->unit != MAM_NO_PAGE)
			mam_spans_own(heap, request->unit, units);
		return;
	}
	request->unit = MAM_NO_PAGE;
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

/* Gives slots that lane `who` took to lanes of `needy`. */
MAM_KFN void mam_search_deal(struct mam_krequest *request, uint32_t needy, uint32_t class_,
			     uint32_t who)
{
	struct mam_kfind found;
	uint32_t rank = mam_popc32(needy & ((1u << mam_lane()) - 1));

	found.won = mam_warp_shuffle64(request->mask, request->found.won, who);
	found.word = mam_warp_shuffle32(request->mask, request->found.word, who);
	if (needy >> mam_lane() & 1 && rank < mam_popc64(found.won))
		request->object = mam_metadata_at(request->heap, class_, found.word,
						  mam_slots_pick(found.won, rank));
}

/* Sets `wanted` to the classes of the lanes of `needy`, and to the others of the scan. */
MAM_KFN void mam_search_classes(struct mam_krequest *request, uint32_t needy)
{
	uint32_t class_;

	request->wanted.mine.has[0] = request->wanted.mine.has[1] = 0;
	MAM_ROLLED
	while (needy) {
		class_ = mam_warp_shuffle32(request->mask, request->class_, mam_ffs32(needy) - 1);
		needy &= ~mam_warp_ballot(request->mask, request->class_ == class_);
		mam_set_flip(&request->wanted.mine, class_);
	}
	request->wanted.others.has[0] = request->scan.has[0] & ~request->wanted.mine.has[0];
	request->wanted.others.has[1] = request->scan.has[1] & ~request->wanted.mine.has[1];
}

/*
 * Looks at the blocks from `block` to before `end`, by the lanes of `mask`, and takes room for those of
 * `needy`: sets `object`, and `doubt` of any lane. Returns the lanes that got nothing.
 */
MAM_KFN uint32_t mam_search_piece(struct mam_krequest *request, uint32_t needy, uint32_t block,
				  uint32_t end)
{
	uint32_t ready, class_, same, takes = 0;

	request->block = block + mam_popc32(request->mask & ((1u << mam_lane()) - 1));
	request->end = end < request->heap->blocks ? end : request->heap->blocks;
	request->word = MAM_NO_WORD;
	request->doubt = 0;
	MAM_ROLLED
	for (;; takes++) {
		/* Others wait for this piece: a warp that takes much leaves the rest to all. */
		mam_search_classes(request, takes < MAM_SEARCH_TAKES || request->alone ? needy : 0);
		/* A word for a class that no lane wants any more. */
		if (request->word != MAM_NO_WORD &&
		    !mam_set_has(&request->wanted.mine, request->room))
			request->word = MAM_NO_WORD;
		/* Nothing is left to find, for any warp. */
		if (!needy && !(request->scan.has[0] | request->scan.has[1]))
			return 0;
		if (request->word == MAM_NO_WORD)
			mam_search_check(request, mam_popc32(request->mask));
		mam_warp_sync(request->mask);
		ready = mam_warp_ballot(request->mask, request->word != MAM_NO_WORD);
		if (!ready)
			return needy;
		/* The first lane that found room, as long as there is some. */
		ready = mam_ffs32(ready) - 1;
		class_ = mam_warp_shuffle32(request->mask, request->room, ready);
		same = mam_warp_ballot(request->mask, request->class_ == class_) & needy;
		request->found.won = 0;
		if (mam_lane() == ready) {
			mam_search_take(request, class_, mam_popc32(same));
			request->word = MAM_NO_WORD;
		}
		mam_warp_sync(request->mask);
		mam_search_deal(request, same, class_, ready);
		needy &= mam_warp_ballot(request->mask, !request->object);
	}
}

/* The first piece, by one lane. */
MAM_KSLOW uint32_t mam_search_first(const struct mam_krequest *request)
{
	if (!request->alone)
		return mam_scans_join(request->heap, &request->wanted.mine, request->since);
	MAM_STEPS_ADD(request->heap, passes, 1);
	return mam_find_random(0) % mam_scans_pieces(request->heap);
}

/*
 * By one lane: reports a piece, with whether it left a doubt, and takes the next one of any scan as
 * long as the request has `more` lanes. Without other warps: only the next one.
 */
MAM_KSLOW uint32_t mam_search_next(const struct mam_krequest *request, bool doubt, bool more)
{
	uint32_t piece = request->piece + 1;

	if (request->alone)
		return piece < mam_scans_pieces(request->heap) ? piece : 0;
	piece = mam_scans_report(request->heap, doubt, more);
	if (!more || piece < mam_scans_pieces(request->heap))
		return piece;
	return mam_scans_join(request->heap, &request->wanted.mine, request->since);
}

/* After a scan without other warps: the result, a block with room for a run, or none. */
MAM_KFN void mam_search_alone(struct mam_krequest *request, uint32_t doubt)
{
	uint32_t runs = mam_warp_ballot(request->mask, request->spare != MAM_NO_PAGE);

	request->result.rooms[0] = mam_warp_shuffle32(request->mask, request->spare,
						      mam_ffs32(runs ? runs : request->mask) - 1);
	request->result.count = runs ? 1 : 0;
	request->result.final = !(doubt | runs);
}

/*
 * Takes part in scans until one that began after the draw of `since` is over; or scans without other
 * warps, starting anywhere, as such scans that begin at one place would follow each other. Returns
 * the lanes that got nothing.
 */
MAM_KFN uint32_t mam_search_pieces(struct mam_krequest *request, uint32_t needy)
{
	uint32_t leader = mam_ffs32(request->mask) - 1, shift, piece, doubt = 0, taken = 0, more;

	request->result.count = request->result.first = request->result.final = 0;
	request->result.tries = 0;
	request->spare = MAM_NO_PAGE;
	request->scan.has[0] = request->scan.has[1] = 0;
	request->wanted.turn = MAM_PASS_SILENT;
	if (mam_lane() == leader)
		request->piece = mam_search_first(request);
	MAM_ROLLED
	for (;;) {
		/* All lanes see what the leader has acquired. */
		mam_warp_sync(request->mask);
		piece = mam_warp_shuffle32(request->mask, request->piece, leader);
		if (!request->alone) {
			request->alone = piece == MAM_SCANS_ALONE;
			if (piece >= MAM_SCANS_ALONE)
				return needy;
			mam_scans_wanted(request->heap, &request->scan, &request->wanted.turn);
		}
		shift = mam_scans_shift(request->heap);
		needy = mam_search_piece(request, needy, piece << shift, (piece + 1) << shift);
		more = mam_warp_ballot(request->mask, request->doubt != 0);
		doubt |= more;
		if (request->alone && (!needy || ++taken == mam_scans_pieces(request->heap)))
			break;
		mam_warp_sync(request->mask);
		if (mam_lane() == leader)
			request->piece = mam_search_next(request, more != 0, needy != 0);
	}
	mam_search_alone(request, doubt);
	return needy;
}

/* The object of a lane that took room for itself. */
MAM_KFN void mam_search_took(struct mam_krequest *request)
{
	if (request->found.won)
		request->object =
			mam_metadata_at(request->heap, request->class_, request->found.word,
					mam_ffs64(request->found.won) - 1);
	else if (request->unit != MAM_NO_PAGE)
		request->object =
			request->heap->space + ((uint64_t)request->unit << MAM_UNIT_SHIFT);
}

/* Takes room for one lane where a scan left a hint: a slot, a group or a run. */
MAM_KSLOW void mam_search_hint(struct mam_krequest *request, uint32_t at)
{
	uint64_t traits = mam_traits_of(request->class_);
	uint32_t word = mam_atomic_load32(mam_pass_row(request->heap, request->class_, at),
					  MAM_RELAXED, MAM_AT_DEVICE) -
			1;

	if (word == MAM_NO_WORD)
		return;
	request->word = word;
	mam_search_take(request, request->class_, 1);
	if (!request->found.won && mam_pass_runs(traits)) {
		request->word = MAM_NO_WORD;
		request->unit = mam_slab_unit(traits, word);
		mam_search_take(request, request->class_, 1);
	}
	mam_search_took(request);
}

/* Takes room in a block for one lane. Returns false if a look without doubt finds none. */
MAM_KSLOW bool mam_search_block(struct mam_krequest *request, uint32_t block)
{
	struct mam_kwanted wanted = { { { 0, 0 } }, { { 0, 0 } }, MAM_PASS_SILENT };
	struct mam_klook look;

	mam_set_flip(&wanted.mine, request->class_);
	look = mam_pass_block(request->heap, &wanted, block);
	request->word = look.word;
	request->unit = look.unit;
	if (look.word == MAM_NO_WORD && look.unit == MAM_NO_PAGE)
		return look.doubt != 0;
	mam_search_take(request, request->class_, 1);
	mam_search_took(request);
	return true;
}

/*
 * After a scan, for one lane that got nothing: takes room in the blocks of the result, or fails if
 * none of them has any.
 */
MAM_KSLOW void mam_search_verdict(struct mam_krequest *request)
{
	struct mam_kresult *result = &request->result;
	uint32_t looks, i, at, larger;

	/* It may search again. */
	request->mine.slot = MAM_NO_SLOT;
	if (!request->alone)
		mam_scans_result(request->heap, request->class_, request->since, result);
	MAM_ROLLED
	for (i = 0; i < result->tries && !request->object; i++)
		mam_search_hint(request, result->first + i);
	at = result->first;
	MAM_ROLLED
	for (i = 0; i < result->count; i++, at = at + 1 < result->count ? at + 1 : 0) {
		MAM_ROLLED
		for (looks = 0; looks < MAM_SEARCH_DOUBTS; looks++)
			if (!mam_search_block(request, result->rooms[at]) || request->object)
				break;
		if (request->object)
			return;
		result->final &= looks < MAM_SEARCH_DOUBTS;
	}
	if (!result->final)
		return;
	larger = mam_scans_larger(request->heap, request->class_);
	if (larger)
		request->class_ = larger;
	else
		request->mine.slot = MAM_SLOT_REFUSED;
}

/*
 * Step 3, by all lanes of `mask`, for those of `needy`; `scans`: how often before. Sets `object` of each
 * lane that gets one, and the slot of each lane that fails to MAM_SLOT_REFUSED.
 */
MAM_KFN void mam_search_scan(struct mam_krequest *request, uint32_t needy, uint32_t scans)
{
	uint32_t leader = mam_ffs32(request->mask) - 1;

	/* Objects that the host frees are in the root's ring. */
	if (!scans && !request->stage)
		mam_returns_drain_lone(request->root);
	mam_search_classes(request, needy);
	/* The draw releases what all lanes have freed. */
	mam_warp_sync(request->mask);
	if (mam_lane() == leader)
		request->since = mam_scans_want(request->heap, &request->wanted.mine);
	request->since = mam_warp_shuffle64(request->mask, request->since, leader);
	if (!scans)
		request->alone = 0;
	request->alone |= scans >= MAM_SEARCH_SHARED;
	needy = mam_search_pieces(request, needy);
	if (needy >> mam_lane() & 1)
		mam_search_verdict(request);
	if (request->object)
		request->mine.slot = MAM_SLOT_DONE;
	mam_warp_sync(request->mask);
	needy &= mam_warp_ballot(request->mask, request->mine.slot == MAM_SLOT_REFUSED);
	if (mam_lane() == leader && needy && !request->stage)
		mam_object_tally_add(request->heap, MAM_OBJECT_FULL, mam_popc32(needy));
}

/*
 * Steps 2 to 4 in the root or in one part, for the lanes of `mask`, some of which have an open
 * request.
 */
MAM_KFN void mam_search_look(struct mam_krequest *request)
{
	uint32_t needy, scans;

	MAM_ROLLED
	for (scans = 0;; scans++) {
		if ((!request->all || !request->stage) && mam_search_needy(request))
			mam_search_find(request);
		if (request->mine.slot < MAM_NO_SLOT)
			request->object = mam_metadata_at(request->heap, request->class_,
							  request->mine.word, request->mine.slot);
		needy = mam_warp_ballot(request->mask, mam_search_slotless(request));
		if (!request->all || !needy)
			break;
		if (scans == MAM_SEARCH_SCANS) {
			if (needy >> mam_lane() & 1)
				request->mine.slot = MAM_SLOT_REFUSED;
			if (mam_lane() == mam_ffs32(request->mask) - 1 && !request->stage)
				mam_object_tally_add(request->heap, MAM_OBJECT_CONTENDED,
						     mam_popc32(needy));
			break;
		}
		if (scans)
			mam_scan_pause(scans - 1);
		mam_search_scan(request, needy, scans);
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
