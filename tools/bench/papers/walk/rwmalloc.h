/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rwmalloc.h - RW_malloc: runs of consecutive units, found by a warp that reads a region of
 * consecutive words together.
 *
 * Of the lanes that call together, until each has its run:
 * 1. A random region of as many words as there are lanes; each lane reads one word. A step of each.
 * 2. In registers: needy lanes, lowest first, are dealt free runs of the region, including runs
 *    that cross words. As many requests as fit into one run are dealt as one: first all of them,
 *    and if that is too much, half of the requested units, and so on.
 * 3. Each lane allocates the dealt units of its word by one atomic. Its old value shows which units
 *    other lanes took meanwhile: a run that lost a unit frees the rest, and its lane needs a run
 *    again.
 *
 * A run that is longer than the region (few lanes call) is searched by its lane alone, word after
 * word.
 *
 * Source: common.h, algorithm 6 and its section: joined segments, and small requests aggregated
 * within a warp. The sketch takes one run at a time, with one atomic per lane in turn, and within a
 * word; the segment list that its text keeps in shared memory is here one word per lane.
 *
 * Bound: runs of at most MAM_RWMALLOC_UNITS, as published a warp's region. mam_published_bound()
 * steps in a row in which no lane got a run, then MAM_NO_PAGE, though such a run may be left.
 */
#ifndef MAM_BENCH_PAPERS_WALK_RWMALLOC_H
#define MAM_BENCH_PAPERS_WALK_RWMALLOC_H

#include "bench/papers/walk/common.h"

#define MAM_RWMALLOC_UNITS 1024u

struct mam_rwmalloc {
	uint32_t count; /* units; never changes, as all of this struct */
	uint32_t words; /* of 32 units */
	uint32_t bound; /* steps */
	uint32_t spare[29];
};

MAM_KBOTH size_t mam_rwmalloc_bytes(uint32_t count)
{
	return sizeof(struct mam_rwmalloc) +
	       mam_published_words_bytes(count / 32 + (count % 32 ? 1 : 0));
}

MAM_KBOTH void mam_rwmalloc_format(MAM_GLOBAL struct mam_rwmalloc *heap, uint32_t count,
				   uint32_t low)
{
	heap->count = count;
	heap->words = count / 32 + (count % 32 ? 1 : 0);
	heap->bound = mam_published_bound(count, low);
	if (count % 32)
		((MAM_GLOBAL uint32_t *)(heap + 1))[count / 32] = ~0u << count % 32;
}

#ifndef MAM_DEVICE_PORT_HOST_H

MAM_KFN MAM_GLOBAL uint32_t *mam_rwmalloc_word(MAM_GLOBAL struct mam_rwmalloc *heap, uint32_t word)
{
	return (MAM_GLOBAL uint32_t *)(heap + 1) + word;
}

/*
 * The bits of the word whose first unit is `low` that are among the `n` units starting at `first`.
 */
MAM_KFN uint32_t mam_rwmalloc_part(uint32_t first, uint32_t n, uint32_t low)
{
	uint32_t from = first > low ? first - low : 0;
	uint32_t end = first + n > low ? first + n - low : 0;

	if (from >= 32 || end <= from)
		return 0;
	return (end < 32 ? (1u << end) - 1 : ~0u) & ~0u << from;
}

/* The number of free units at a word's lower end, and at its upper end. */
MAM_KFN uint32_t mam_rwmalloc_head(uint32_t free)
{
	return free == ~0u ? 32 : mam_ffs32(~free) - 1;
}

MAM_KFN uint32_t mam_rwmalloc_tail(uint32_t free)
{
	return mam_clz64(~((uint64_t)free << 32));
}

/*
 * The lowest bit of `free` at which a run of `n` starts, if `ahead` units directly after the word
 * are free; 32 if there is none. After each round a bit of `runs` means that `length` units
 * starting there are free.
 */
MAM_KFN uint32_t mam_rwmalloc_fit(uint32_t free, uint32_t ahead, uint32_t n)
{
	uint64_t runs = (uint64_t)(ahead < 32 ? (1u << ahead) - 1 : ~0u) << 32 | free;
	uint32_t length = 1, tail;

	if (n > 32) {
		tail = mam_rwmalloc_tail(free);
		return tail && tail + ahead >= n ? 32 - tail : 32;
	}
	while (length < n) {
		uint32_t more = length < n - length ? length : n - length;

		runs &= runs >> more;
		length += more;
	}
	return (uint32_t)runs ? mam_ffs32((uint32_t)runs) - 1 : 32;
}

/* A lane's view of the region: its own word. */
struct mam_rwmalloc_view {
	uint32_t active; /* lanes with a word, in the order of their words */
	uint32_t rank;   /* of this lane among them */
	uint32_t free;   /* bits of its word that are free and not dealt */
	uint32_t dealt;  /* bits that were dealt */
};

/* The number of free units directly after this lane's word. */
MAM_KFN uint32_t mam_rwmalloc_ahead(const struct mam_rwmalloc_view *view)
{
	uint32_t above = view->active & ~((2u << mam_lane()) - 1);
	uint32_t stop = mam_warp_ballot(view->active, view->free != ~0u) & above;
	uint32_t at = stop ? mam_ffs32(stop) - 1 : mam_lane();
	uint32_t head = mam_warp_shuffle32(view->active, mam_rwmalloc_head(view->free), at);

	if (!stop)
		return 32 * mam_popc32(above);
	return 32 * mam_popc32(above & ((1u << at) - 1)) + head;
}

/*
 * Sums of `n` over the active lanes up to this one: in each round a lane adds the sum of twice as
 * many lanes before it.
 */
MAM_KFN uint32_t mam_rwmalloc_sum(uint32_t active, uint32_t n)
{
	uint32_t lower = active & ((1u << mam_lane()) - 1), round;
	uint32_t before = lower ? 32 - (mam_clz64(lower) - 32) : 0; /* lane before, from 1 */

	for (round = 0; round < 5; round++) {
		uint32_t from = before ? before - 1 : mam_lane();
		uint32_t sum = mam_warp_shuffle32(active, n, from);
		uint32_t next = mam_warp_shuffle32(active, before, from);

		n += before ? sum : 0;
		before = before ? next : 0;
	}
	return n;
}

/*
 * Step 2: returns where in the region the caller's run of `n` starts, or MAM_NO_PAGE; lanes with n
 * == 0 want none. All lanes of the view go through it together, with the same group, limit and
 * base.
 *
 * A run is dealt from the front of the first stretch that has room for it, so the free units after
 * a word stay free while the word's own upper end does: they need not be counted again.
 */
MAM_KFN uint32_t mam_rwmalloc_deal(struct mam_rwmalloc_view *view, uint32_t n)
{
	uint32_t lane = mam_lane(), start = MAM_NO_PAGE, base = 0;
	uint32_t ahead = mam_rwmalloc_ahead(view), sum = mam_rwmalloc_sum(view->active, n);
	uint32_t left = mam_warp_ballot(view->active, n != 0); /* to be dealt with */
	uint32_t limit = 32 * mam_popc32(view->active);        /* no longer run is free */
	uint32_t group = limit;                                /* how much to deal at once */

	while (left) {
		uint32_t first = mam_ffs32(left) - 1;
		uint32_t lanes = mam_warp_ballot(
			view->active, (left >> lane & 1) && (lane == first || sum - base <= group));
		uint32_t last = 63 - mam_clz64(lanes);
		uint32_t upto = mam_warp_shuffle32(view->active, sum, last);
		uint32_t total = upto - base, bit, found;

		bit = total <= limit ? mam_rwmalloc_fit(view->free, ahead, total) : 32;
		found = mam_warp_ballot(view->active, bit < 32);
		if (found) {
			uint32_t at = mam_ffs32(found) - 1, part;

			at = mam_warp_shuffle32(view->active, 32 * view->rank + bit, at);
			if (lanes >> lane & 1)
				start = at + (sum - n - base);
			part = mam_rwmalloc_part(at, total, 32 * view->rank);
			view->dealt |= part;
			view->free &= ~part;
		} else {
			limit = total <= limit ? total - 1 : limit;
			if (first != last) { /* fewer at once */
				group = total / 2 < limit ? total / 2 : limit;
				continue;
			}
		}
		left &= ~lanes;
		base = upto;
	}
	return start;
}

/*
 * Step 3: allocates the dealt units in the words starting at `word`. Returns true if the caller's
 * run belongs to it now.
 */
MAM_KFN bool mam_rwmalloc_claim(MAM_GLOBAL struct mam_rwmalloc *heap, uint32_t word,
				const struct mam_rwmalloc_view *view, uint32_t start, uint32_t n)
{
	MAM_GLOBAL uint32_t *mine = mam_rwmalloc_word(heap, word + view->rank);
	uint32_t gone = 0, lanes, back = 0;
	bool whole = start != MAM_NO_PAGE;

	if (view->dealt)
		gone = view->dealt & mam_atomic_or32(mine, view->dealt, MAM_ACQUIRE, MAM_AT_DEVICE);
	lanes = mam_warp_ballot(view->active, gone != 0);
	if (!lanes)
		return whole;
	for (; lanes; lanes &= lanes - 1) {
		uint32_t at = mam_ffs32(lanes) - 1;
		uint32_t lost = mam_warp_shuffle32(view->active, gone, at);
		uint32_t rank = mam_popc32(view->active & ((1u << at) - 1));

		if (whole && (mam_rwmalloc_part(start, n, 32 * rank) & lost))
			whole = false;
	}
	lanes = mam_warp_ballot(view->active, start != MAM_NO_PAGE && !whole);
	for (; lanes; lanes &= lanes - 1) {
		uint32_t at = mam_ffs32(lanes) - 1;
		uint32_t first = mam_warp_shuffle32(view->active, start, at);
		uint32_t units = mam_warp_shuffle32(view->active, n, at);

		back |= mam_rwmalloc_part(first, units, 32 * view->rank);
	}
	if (back & ~gone)
		(void)mam_atomic_and32(mine, ~(back & ~gone), MAM_RELAXED, MAM_AT_DEVICE);
	return whole;
}

/* Lanes whose request exceeds the region have n == 0: they read their words for the others. */
MAM_KFN uint32_t mam_rwmalloc_together(MAM_GLOBAL struct mam_rwmalloc *heap,
				       struct mam_published_walk *walk, uint32_t active, uint32_t n)
{
	struct mam_rwmalloc_view view = { active, 0, 0, 0 };
	uint32_t lead = mam_ffs32(active) - 1, region = mam_popc32(active), barren = 0;
	uint32_t places = heap->words > region ? heap->words - region + 1 : 1;
	uint32_t page = MAM_NO_PAGE, asked = n;

	view.rank = mam_popc32(active & ((1u << mam_lane()) - 1));
	while (mam_warp_ballot(active, asked != 0) && barren < heap->bound) {
		uint32_t word = mam_published_below(walk, places), start;
		bool got;

		word = mam_warp_shuffle32(active, word, lead);
		walk->steps++;
		view.dealt = 0;
		view.free = word + view.rank < heap->words
				    ? ~mam_atomic_load32(mam_rwmalloc_word(heap, word + view.rank),
							 MAM_RELAXED, MAM_AT_DEVICE)
				    : 0;
		start = mam_rwmalloc_deal(&view, asked);
		got = mam_rwmalloc_claim(heap, word, &view, start, asked);
		if (got) {
			page = word * 32 + start;
			asked = 0;
		}
		barren = mam_warp_ballot(active, got) ? 0 : barren + 1;
	}
	/* The lanes that claimed a run acquired it, on behalf of the lane that has it now. */
	mam_warp_sync(active);
	return page;
}

/* Frees the first `words` words of a run. */
MAM_KFN void mam_rwmalloc_clear(MAM_GLOBAL struct mam_rwmalloc *heap, uint32_t page, uint32_t n,
				uint32_t words, bool given)
{
	uint32_t i;

	for (i = 0; i < words; i++) {
		uint32_t word = page / 32 + i;
		uint32_t part = mam_rwmalloc_part(page, n, word * 32);

		if (given)
			(void)mam_atomic_and32(mam_rwmalloc_word(heap, word), ~part,
					       MAM_PUBLISHED_GIVE, MAM_AT_DEVICE);
		else if (part)
			(void)mam_atomic_and32(mam_rwmalloc_word(heap, word), ~part, MAM_RELAXED,
					       MAM_AT_DEVICE);
	}
}

/* Allocates the run if all of it is free, or nothing. */
MAM_KFN bool mam_rwmalloc_seize(MAM_GLOBAL struct mam_rwmalloc *heap, uint32_t page, uint32_t n)
{
	uint32_t word;

	for (word = page / 32; word * 32 < page + n; word++) {
		uint32_t part = mam_rwmalloc_part(page, n, word * 32), gone;

		gone = part & mam_atomic_or32(mam_rwmalloc_word(heap, word), part, MAM_ACQUIRE,
					      MAM_AT_DEVICE);
		if (!gone)
			continue;
		if (part & ~gone)
			(void)mam_atomic_and32(mam_rwmalloc_word(heap, word), ~(part & ~gone),
					       MAM_RELAXED, MAM_AT_DEVICE);
		mam_rwmalloc_clear(heap, page, n, word - page / 32, false);
		return false;
	}
	return true;
}

/* Allocates a run of more than 32 units, hence one that crosses words, by one lane. */
MAM_KSLOW uint32_t mam_rwmalloc_alone(MAM_GLOBAL struct mam_rwmalloc *heap,
				      struct mam_published_walk *walk, uint32_t n)
{
	uint32_t reach = MAM_RWMALLOC_UNITS / 32 + 1, tried;
	uint32_t places = heap->words > reach ? heap->words - reach + 1 : 1;

	for (tried = 0; tried < heap->bound; tried++) {
		uint32_t from = mam_published_below(walk, places), word, run = 0;

		walk->steps++;
		for (word = from; word < heap->words && word < from + reach; word++) {
			uint32_t free = ~mam_atomic_load32(mam_rwmalloc_word(heap, word),
							   MAM_RELAXED, MAM_AT_DEVICE);
			uint32_t page = word * 32 - run;

			if (run + mam_rwmalloc_head(free) >= n) {
				if (mam_rwmalloc_seize(heap, page, n))
					return page;
				break;
			}
			run = free == ~0u ? run + 32 : mam_rwmalloc_tail(free);
		}
	}
	return MAM_NO_PAGE;
}

/* Allocates `n` consecutive units; each lane may pass a different number. */
MAM_KFN uint32_t mam_rwmalloc_take(MAM_GLOBAL struct mam_rwmalloc *heap,
				   struct mam_published_walk *walk, uint32_t n)
{
	uint32_t active, page;
	bool together;

	if (n == 0 || n > MAM_RWMALLOC_UNITS || n > heap->count)
		return MAM_NO_PAGE;
	active = mam_warp_active();
	together = n <= 32 * mam_popc32(active);
	page = mam_rwmalloc_together(heap, walk, active, together ? n : 0);
	return together ? page : mam_rwmalloc_alone(heap, walk, n);
}

MAM_KFN bool mam_rwmalloc_give(MAM_GLOBAL struct mam_rwmalloc *heap, uint32_t page, uint32_t n)
{
	if (n == 0 || n > heap->count || page > heap->count - n)
		return false;
	mam_rwmalloc_clear(heap, page, n, (page + n - 1) / 32 - page / 32 + 1, true);
	return true;
}

#endif
#endif
