/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group.h - kernels of the group-by of `mam bench case` in one pass over its tuples per run, into
 * lists of pages that are allocated as needed. After Pham et al. (2024), section 6.2 and appendix
 * C.
 *
 * A run processes 8 bits of the key, from the top:
 * 1. spread: a block processes its unit tile by tile. It reads a tile from pages, which it frees at
 *    once, sorts it by bucket, and appends each bucket's tuples to the page that the block has open
 *    for it, and to new pages. The pages of all buckets are requested together, one lane per page.
 *    No other block writes there, so no block waits. Each new page's word goes into a table. At its
 *    end the block adds its totals to each list's two counters.
 * 2. lists: compute where each list's words begin. A list that continues is cut into units; one of
 *    at most a tile is recorded as small.
 * 3. words: sort the table's words by list.
 * 4. finish: sort a small list by all remaining bits at once, within its pages, and free pages that
 *    are then empty.
 * After the last run, a list is a group: pages full of row numbers. In a small list, groups follow
 * one another, as tuples.
 *
 * A page belongs to one block: a page that is not full at the block's end stays so, about half a
 * page per bucket and unit. In the paper, lists share their last page, so a block that finds it
 * full waits for the next one, or allocates one that is not filled either. With pages of its own, a
 * block makes one request for GROUP_TUPLES tuples.
 *
 * Bound: each tuple is read and written once per run. There are tuples / GROUP_TUPLES requests,
 * plus at most 256 per unit. Invariants: a page is in one list, and its word has its count; no
 * block waits for another.
 */
#ifndef MAM_TOOLS_BENCH_CASES_GROUP_H
#define MAM_TOOLS_BENCH_CASES_GROUP_H

#include "bench/papers/cases/group/group_tile.h"

#define GROUP_FRESH (GROUP_BLOCK + GROUP_TILE / GROUP_TUPLES) /* pages of a tile, at most */

MAM_KFN uint64_t group_word(const void *page, uint32_t count)
{
	return (uint64_t)(uintptr_t)page >> 3 << GROUP_WORD_SHIFT | count;
}

MAM_KFN void *group_page_of(uint64_t word)
{
	return (void *)(uintptr_t)(word >> GROUP_WORD_SHIFT << 3);
}

MAM_KFN uint32_t group_count_of(uint64_t word)
{
	return (uint32_t)word & GROUP_COUNT;
}

/* Bytes that were requested. */
MAM_KFN uint32_t group_bytes_of(uint64_t word)
{
	return word & GROUP_EXACT ? group_count_of(word) * (uint32_t)sizeof(uint32_t) : GROUP_PAGE;
}

/* ---- 1. ---- */

struct group_spread {
	struct group_tile tile;
	uint64_t open[GROUP_BLOCK];   /* a bucket's page that has room left */
	uint64_t fresh[GROUP_FRESH];  /* those of this tile */
	uint32_t first[GROUP_BLOCK];  /* index in fresh, by bucket */
	uint32_t offset[GROUP_BLOCK]; /* place in or after the open page, minus that in the tile */
	uint32_t need[GROUP_BLOCK];   /* tuples for fresh pages; before: places of tuples to read */
};

/* Makes tuples from the input. Returns their number. */
MAM_KFN uint32_t group_read_input(const struct group_work *work, struct group_tile *tile,
				  uint32_t row)
{
	const uint32_t *const from = work->keys + row;
	const uint32_t left = work->count - row;
	uint32_t keys[GROUP_EACH], i, k;

	/* Issue all loads before the first value is needed. */
	for (i = 0; i < GROUP_EACH; i++) {
		k = i * GROUP_BLOCK + mam_thread();
		keys[i] = k < left ? from[k] : 0;
	}
	for (i = 0; i < GROUP_EACH; i++) {
		k = i * GROUP_BLOCK + mam_thread();
		if (k < left)
			tile->tuples[k] = group_tuple(keys[i], row + k);
	}
	return left < GROUP_TILE ? left : GROUP_TILE;
}

#define GROUP_AT_ONCE 4u /* loads from pages that a warp has in flight */

/*
 * Reads as many pages, starting at `words`, as fit after the tile's first `had` tuples, at most one
 * per thread. Returns the resulting number of tuples. Sets *pages to the number of pages and *mine
 * to the thread's own word, or 0.
 */
MAM_KFN uint32_t group_read_pages(struct group_tile *tile, uint32_t *places, uint32_t had,
				  const uint64_t *words, uint32_t left, uint32_t *pages,
				  uint64_t *mine)
{
	const uint32_t warp = mam_thread() / 32, lane = mam_lane(), me = mam_thread();
	uint64_t word = me < left ? words[me] : 0, got[GROUP_AT_ONCE][2];
	uint32_t before, all, i, k, page, where[GROUP_AT_ONCE], many[GROUP_AT_ONCE];
	const uint64_t *from;

	before = had + group_scan(&tile->sums, group_count_of(word), &all);
	if (me == 0) {
		tile->sums.said[0] = left < GROUP_BLOCK ? left : GROUP_BLOCK;
		tile->sums.said[1] = had + all;
	}
	places[me] = before;
	mam_syncthreads();
	/* The first one that does not fit; those after it do not fit, either. */
	if (before <= GROUP_TILE && before + group_count_of(word) > GROUP_TILE) {
		tile->sums.said[0] = me;
		tile->sums.said[1] = before;
	}
	mam_syncthreads();
	*pages = tile->sums.said[0];
	*mine = me < *pages ? word : 0;
	for (page = warp; page < *pages; page += GROUP_WARPS * GROUP_AT_ONCE) {
		for (i = 0; i < GROUP_AT_ONCE; i++) {
			k = page + i * GROUP_WARPS;
			word = k < *pages ? words[k] : 0;
			many[i] = group_count_of(word);
			where[i] = k < *pages ? places[k] : 0;
			from = (const uint64_t *)group_page_of(word);
			got[i][0] = lane < many[i] ? from[lane] : 0;
			got[i][1] = lane + 32 < many[i] ? from[lane + 32] : 0;
		}
		for (i = 0; i < GROUP_AT_ONCE; i++) {
			if (lane < many[i])
				tile->tuples[where[i] + lane] = got[i][0];
			if (lane + 32 < many[i])
				tile->tuples[where[i] + lane + 32] = got[i][1];
		}
	}
	return tile->sums.said[1];
}

/*
 * Allocates `all` pages and writes their words into the table starting at `at`. `exact`: the tile
 * is the unit's last, so each bucket's final size is known.
 */
MAM_KFN void group_ask(const struct device_job *job, const struct group_work *work,
		       struct group_spread *spread, uint32_t child, uint32_t room, uint32_t all,
		       uint32_t at, bool exact)
{
	uint32_t i, k, bucket, left;
	uint64_t word;
	void *page;

	for (i = 0; i < all; i += GROUP_BLOCK) {
		k = i + mam_thread();
		if (k < all) {
			bucket = group_owner_of(spread->first, k);
			left = spread->need[bucket] - (k - spread->first[bucket]) * room;
			word = exact && left < room ? left | GROUP_EXACT : room;
			page = case_alloc(job->heap, case_told_of(job), job->flags,
					  group_bytes_of(word));
			spread->fresh[k] = (uint64_t)(uintptr_t)page;
			MAM_KASSERT(at + k < work->room);
			work->table[at + k] =
				page != (void *)0 ? group_word(page, (uint32_t)word) : 0;
			work->owner[at + k] = child + bucket;
		}
		mam_syncthreads();
	}
}

/* Writes the tile to pages, bucket by bucket; pages have room for 2^room_shift. */
MAM_KFN void group_write(const struct group_work *work, const struct group_spread *spread,
			 uint32_t count, uint32_t room_shift)
{
	const uint32_t shift = work->shift, mask = work->mask;
	const uint32_t within = ((uint32_t)1 << room_shift) - 1;
	const bool rows = room_shift == GROUP_ROWS_SHIFT;
	uint64_t tuples[GROUP_AT_ONCE], places[GROUP_AT_ONCE], page;
	uint32_t first, i, k, bucket, place;

	/*
	 * Compute the destinations before the first store: the compiler must assume that a store
	 * changes the data to be loaded.
	 */
	for (first = 0; first < count; first += GROUP_AT_ONCE * GROUP_BLOCK) {
		for (i = 0; i < GROUP_AT_ONCE; i++) {
			k = first + i * GROUP_BLOCK + mam_thread();
			places[i] = 0;
			if (k >= count)
				continue;
			tuples[i] = spread->tile.tuples[k];
			bucket = group_key_of(tuples[i]) >> shift & mask;
			place = k + spread->offset[bucket];
			page = place <= within ? spread->open[bucket]
					       : spread->fresh[spread->first[bucket] +
							       (place >> room_shift) - 1];
			if (page != 0)
				places[i] = page +
					    (place & within) * (uint32_t)(rows ? sizeof(uint32_t)
									       : sizeof(uint64_t));
		}
		for (i = 0; i < GROUP_AT_ONCE; i++) {
			if (places[i] == 0)
				continue;
			if (rows)
				*(uint32_t *)(uintptr_t)places[i] = (uint32_t)tuples[i];
			else
				*(uint64_t *)(uintptr_t)places[i] = tuples[i];
		}
	}
}

/* Adds a block's totals for a bucket to the list. */
MAM_KFN void group_add(struct group_list *list, uint32_t pages, uint32_t tuples, uint32_t prefix)
{
	if (tuples == 0)
		return;
	(void)mam_atomic_add32(&list->pages, pages, MAM_RELAXED, MAM_AT_DEVICE);
	(void)mam_atomic_add32(&list->tuples, tuples, MAM_RELAXED, MAM_AT_DEVICE);
	mam_atomic_store32(&list->prefix, prefix, MAM_RELAXED, MAM_AT_DEVICE);
}

MAM_KFN void group_spread(const struct device_job *job)
{
	MAM_SHARED(struct group_spread, spread);
	const struct group_work *work = group_work_of(job);
	const struct group_unit unit = group_unit_of(work);
	const uint32_t me = mam_thread(), child = unit.list * GROUP_BLOCK;
	const uint32_t room_shift =
		work->flags & GROUP_LAST ? GROUP_ROWS_SHIFT : GROUP_TUPLES_SHIFT;
	const uint32_t room = (uint32_t)1 << room_shift;
	struct group_tile *const tile = &spread->tile;
	/* For the bucket with the thread's number: tuples in its open page, and in total. */
	uint32_t used = room, open_at = 0, pages = 0, sum = 0;
	uint64_t tuples[GROUP_EACH], word = 0;
	uint32_t ranks[GROUP_EACH / 2], done, taken, count, mine, need, fresh, before, all;
	bool exact;

	spread->open[me] = 0;
	for (done = 0; done < unit.count; done += taken) {
		/* Read a tile and free its pages. */
		if (work->units != (const struct group_unit *)0) {
			count = group_read_pages(tile, spread->need, 0,
						 work->from + unit.first + done, unit.count - done,
						 &taken, &word);
			mam_syncthreads();
			if (group_page_of(word) != (void *)0)
				case_free(job->heap, case_told_of(job), job->flags,
					  group_page_of(word), group_bytes_of(word));
		} else {
			taken = count = group_read_input(work, tile, unit.first + done);
		}
		mam_syncthreads();
		exact = work->flags & GROUP_EXACTLY && done + taken >= unit.count;
		/* Sort it by bucket. */
		mine = group_rank(tile, count, work->shift, work->mask, tuples, ranks);
		need = mine > room - used ? mine - (room - used) : 0;
		fresh = (need + room - 1) >> room_shift;
		before = group_scan(&tile->sums, mine | fresh << 16, &all);
		tile->start[me] = before & 0xffff;
		spread->offset[me] = used - (before & 0xffff);
		spread->first[me] = before >> 16;
		spread->need[me] = need;
		if (me == 0)
			tile->sums.said[2] = mam_atomic_add32(&work->totals->pages, all >> 16,
							      MAM_RELAXED, MAM_AT_DEVICE);
		mam_syncthreads();
		group_arrange(tile, count, work->shift, work->mask, tuples, ranks);
		/* Write it to pages. */
		group_ask(job, work, spread, child, room, all >> 16, tile->sums.said[2], exact);
		mam_syncthreads();
		group_write(work, spread, count, room_shift);
		mam_syncthreads();
		used += mine;
		if (fresh > 0) {
			spread->open[me] = spread->fresh[spread->first[me] + fresh - 1];
			open_at = tile->sums.said[2] + spread->first[me] + fresh - 1;
			used = exact ? room : need - (fresh - 1) * room;
		}
		pages += fresh;
		sum += mine;
	}
	if (spread->open[me] != 0 && used < room)
		work->table[open_at] -= room - used;
	group_add(&work->lists[child + me], pages, sum, unit.prefix << mam_popc32(work->mask) | me);
}
CASE_KERNEL_HELD(group_spread, group_spread, GROUP_BLOCK, GROUP_HELD)

/* ---- 2., 3. ---- */

struct group_lists {
	struct group_sums sums;
	struct group_list lists[GROUP_BLOCK];
	uint32_t units[GROUP_BLOCK];   /* those of the lists before it */
	uint32_t parents[GROUP_BLOCK]; /* the number that the list has in the next run */
};

/* One thread per list; one block for the lists of a parent. */
MAM_KFN void group_lists(const struct device_job *job)
{
	MAM_SHARED(struct group_lists, lists);
	const struct group_work *work = group_work_of(job);
	struct group_totals *const totals = work->totals;
	const uint32_t me = mam_thread(), number = mam_block() * GROUP_BLOCK + me;
	struct group_list list = work->lists[number];
	uint32_t *const said = lists->sums.said;
	struct group_unit unit;
	uint32_t units = 0, pages, before, all_pages, all_units, both, all_both, i, k, each;
	const bool goes_on = !(work->flags & GROUP_LAST);
	const bool large = goes_on && list.tuples > GROUP_TILE;
	const bool small = goes_on && !large && list.tuples > 0;

	if (large)
		units = (list.tuples + work->tiles * GROUP_TILE - 1) / (work->tiles * GROUP_TILE);
	pages = group_scan(&lists->sums, list.pages, &all_pages);
	before = group_scan(&lists->sums, units, &all_units);
	both = group_scan(&lists->sums, large ? 1u : small ? 1u << 16 : 0, &all_both);
	if (me == 0) {
		said[0] = mam_atomic_add32(&totals->placed, all_pages, MAM_RELAXED, MAM_AT_DEVICE);
		said[1] = mam_atomic_add32(&totals->units, all_units, MAM_RELAXED, MAM_AT_DEVICE);
		said[2] = mam_atomic_add32(&totals->parents, all_both & 0xffff, MAM_RELAXED,
					   MAM_AT_DEVICE);
		said[3] = mam_atomic_add32(&totals->smalls, all_both >> 16, MAM_RELAXED,
					   MAM_AT_DEVICE);
		if (mam_block() == 0)
			totals->none = mam_atomic_load64(&case_told_of(job)->none, MAM_RELAXED,
							 MAM_AT_DEVICE);
	}
	mam_syncthreads();
	list.first = said[0] + pages;
	work->lists[number].first = list.first;
	if (small)
		work->smalls[said[3] + (both >> 16)] = number;
	lists->lists[me] = list;
	lists->units[me] = before;
	lists->parents[me] = said[2] + (both & 0xffff);
	mam_syncthreads();
	for (i = me; i < all_units; i += GROUP_BLOCK) {
		k = group_owner_of(lists->units, i);
		list = lists->lists[k];
		units = (list.tuples + work->tiles * GROUP_TILE - 1) / (work->tiles * GROUP_TILE);
		each = (list.pages + units - 1) / units;
		before = (i - lists->units[k]) * each;
		before = before < list.pages ? before : list.pages;
		unit.list = lists->parents[k];
		unit.first = list.first + before;
		unit.count = list.pages - before < each ? list.pages - before : each;
		unit.prefix = list.prefix;
		MAM_KASSERT(said[1] + i < work->unit_room);
		work->next[said[1] + i] = unit;
	}
}
CASE_KERNEL(group_lists, group_lists, GROUP_BLOCK)

/* One thread per word; words of one list in a warp get their places by one atomic. */
MAM_KFN void group_words(const struct device_job *job)
{
	const struct group_work *work = group_work_of(job);
	const uint32_t i = device_thread();
	const bool is = i < work->totals->pages;
	const uint32_t came = mam_warp_ballot(GROUP_ALL_LANES, is);
	uint32_t owner, peers, place = 0;

	if (!is)
		return;
	owner = work->owner[i];
	peers = mam_warp_match32(came, owner);
	if ((peers & (((uint32_t)1 << mam_lane()) - 1)) == 0)
		place = mam_atomic_add32(&work->lists[owner].first, mam_popc32(peers), MAM_RELAXED,
					 MAM_AT_DEVICE);
	place = mam_warp_shuffle32(came, place, mam_ffs32(peers) - 1);
	work->words[place + mam_popc32(peers & (((uint32_t)1 << mam_lane()) - 1))] = work->table[i];
}
CASE_KERNEL(group_words, group_words, GROUP_BLOCK)

/* ---- 4. ---- */

struct group_finish {
	struct group_tile tile;
	uint32_t places[GROUP_BLOCK];
};

/* One block per small list. */
MAM_KFN void group_finish(const struct device_job *job)
{
	MAM_SHARED(struct group_finish, finish);
	const struct group_work *work = group_work_of(job);
	const struct group_list list = work->lists[work->smalls[mam_block()]];
	uint64_t *const words = work->words + (list.first - list.pages);
	struct group_tile *const tile = &finish->tile;
	const uint32_t me = mam_thread(), full = (list.tuples + GROUP_TUPLES - 1) / GROUP_TUPLES;
	uint32_t i, count = 0, taken;
	uint64_t word;
	void *page;

	for (i = 0; i < list.pages; i += taken) {
		count = group_read_pages(tile, finish->places, count, words + i, list.pages - i,
					 &taken, &word);
		mam_syncthreads();
	}
	group_order(tile, count, work->shift);
	for (i = me; i < count; i += GROUP_BLOCK) {
		page = group_page_of(words[i / GROUP_TUPLES]);
		((uint64_t *)page)[i % GROUP_TUPLES] = tile->tuples[i];
	}
	mam_syncthreads();
	for (i = 0; i < list.pages; i += GROUP_BLOCK) {
		word = i + me < list.pages ? words[i + me] : 0;
		page = group_page_of(word);
		if (page != (void *)0 && i + me >= full) {
			case_free(job->heap, case_told_of(job), job->flags, page, GROUP_PAGE);
			words[i + me] = 0;
		} else if (page != (void *)0) {
			words[i + me] = group_word(
				page, i + me + 1 < full ? GROUP_TUPLES
							: count - (full - 1) * GROUP_TUPLES);
		}
		mam_syncthreads();
	}
}
CASE_KERNEL_HELD(group_finish, group_finish, GROUP_BLOCK, GROUP_HELD)

/* ---- the result ---- */

/* Returns true if this list is part of the result once its run is over. */
MAM_KFN bool group_is_result(const struct group_work *work, const struct group_list *list)
{
	return work->flags & GROUP_LAST || list->tuples <= GROUP_TILE;
}

/* One thread per list: adds the digests of its groups. */
MAM_KFN void group_digests(const struct device_job *job)
{
	const struct group_work *work = group_work_of(job);
	const uint32_t number = device_thread(), last = work->flags & GROUP_LAST;
	struct group_told said = { 0, 0, 0, 0 };
	struct group_sum sum = { 0, 0, 0 };
	struct group_list list;
	uint32_t i, k, count, row;
	uint64_t word, tuple;

	if (number >= work->parents * GROUP_BLOCK)
		return;
	list = work->lists[number];
	if (list.tuples == 0 || !group_is_result(work, &list))
		return;
	for (i = list.first - list.pages; i < list.first; i++) {
		word = work->words[i];
		count = group_count_of(word);
		for (k = 0; k < count; k++) {
			if (last) {
				row = ((const uint32_t *)group_page_of(word))[k];
				group_sum_add(work, &said, &sum, list.prefix, row);
			} else {
				tuple = ((const uint64_t *)group_page_of(word))[k];
				group_sum_add(work, &said, &sum, group_key_of(tuple),
					      (uint32_t)tuple);
			}
		}
	}
	group_sum_end(&said, &sum);
	group_report(job, &said);
}
CASE_KERNEL(group_digests, group_digests, GROUP_BLOCK)

/*
 * One warp per list: frees its pages. With job->count, also those of lists that a next run would
 * split.
 */
MAM_KFN void group_release(const struct device_job *job)
{
	const struct group_work *work = group_work_of(job);
	const uint32_t number = device_thread() / 32;
	struct group_list list;
	uint32_t i, k;
	uint64_t word;

	if (number >= work->parents * GROUP_BLOCK)
		return;
	list = work->lists[number];
	if (job->count == 0 && !group_is_result(work, &list))
		return;
	for (i = list.first - list.pages; i < list.first; i += 32) {
		k = i + mam_lane();
		word = k < list.first ? work->words[k] : 0;
		if (group_page_of(word) != (void *)0)
			case_free(job->heap, case_told_of(job), job->flags, group_page_of(word),
				  group_bytes_of(word));
		mam_warp_sync(GROUP_ALL_LANES);
	}
}
CASE_KERNEL(group_release, group_release, GROUP_BLOCK)

#define CASE_GROUP_KERNELS(each)                                                  \
	CASE_GROUP_KIT_KERNELS(each)                                              \
	each(group_spread) each(group_lists) each(group_words) each(group_finish) \
		each(group_digests) each(group_release)

#endif
