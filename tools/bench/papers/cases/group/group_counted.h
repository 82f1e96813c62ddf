/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_counted.h - kernels of the group-by of `mam bench case` without an allocator: each run
 * reads the tuples twice, once to count them and once to place them, from one array into another.
 *
 * As published ("two-pass"; Pham et al. 2024, section 6.2), run i has a counter for each value of
 * the first 8 i bits, up to 2^32:
 * 1. count: if the tuples of a tile have the same bits above this run's, they are counted in shared
 *    memory and added by one atomic per bucket. Otherwise, lanes of a warp with the same value add
 *    together.
 * 2. sums, tops, starts: turn the counters into the places where their groups begin: sums of
 *    pieces, a scan over these, then a scan within each piece.
 * 3. place: as 1.; the old value that the addition returns is the place.
 *
 * With counters only for existing lists ("two-pass-compact"), 256 for each list that is split:
 * 1. tally: count a unit in shared memory.
 * 2. split: place a list's children where the list was, in the order of their bits; units of the
 *    next run and small lists as in group.h.
 * 3. move: tile by tile, bucket by bucket, to places reserved by one atomic per bucket.
 * 4. sort: sort small lists in place.
 *
 * Bound: three times the tuples per run and, for the first variant, three times the counters.
 */
#ifndef MAM_TOOLS_BENCH_CASES_GROUP_COUNTED_H
#define MAM_TOOLS_BENCH_CASES_GROUP_COUNTED_H

#include "bench/papers/cases/group/group_tile.h"

#define GROUP_PIECE_PAIRS 16u /* pairs of counters per thread */

/* ---- with all counters ---- */

struct group_counted {
	struct group_tile tile;
	uint32_t offset[GROUP_BLOCK];
	uint32_t first[GROUP_BLOCK];
};

/*
 * Reads tuples starting at `first`, at most a tile: from the input or the previous run. Ends with a
 * barrier.
 */
MAM_KFN uint32_t group_read_tuples(const struct group_work *work, struct group_tile *tile,
				   uint32_t first, uint32_t left)
{
	const uint32_t count = left < GROUP_TILE ? left : GROUP_TILE;
	const bool is_input = work->from == (const uint64_t *)0;
	const uint64_t *const from = is_input ? work->from : work->from + first;
	const uint32_t *const keys = work->keys + first;
	uint64_t tuples[GROUP_EACH];
	uint32_t i, k;

	/* Issue all loads before the first value is needed. */
	if (!is_input) {
		for (i = 0; i < GROUP_EACH; i++) {
			k = i * GROUP_BLOCK + mam_thread();
			tuples[i] = k < count ? from[k] : 0;
		}
	} else {
		for (i = 0; i < GROUP_EACH; i++) {
			k = i * GROUP_BLOCK + mam_thread();
			tuples[i] = k < count ? group_tuple(keys[k], first + k) : 0;
		}
	}
	for (i = 0; i < GROUP_EACH; i++) {
		k = i * GROUP_BLOCK + mam_thread();
		if (k < count)
			tile->tuples[k] = tuples[i];
	}
	mam_syncthreads();
	return count;
}

#define GROUP_MOVED 4u

/*
 * Writes the tile, bucket by bucket, to the destination that counted->offset gives, relative to the
 * bucket's counted->first. In the last run it writes rows, which are close together there.
 */
MAM_KFN void group_write_tuples(const struct group_work *work, const struct group_counted *counted,
				uint32_t count)
{
	const uint32_t shift = work->shift, mask = work->mask;
	const bool rows = work->flags & GROUP_LAST;
	uint64_t *const words = work->words;
	uint64_t tuples[GROUP_MOVED];
	uint32_t first, i, k, bucket, from[GROUP_MOVED], at[GROUP_MOVED];

	for (first = 0; first < count; first += GROUP_MOVED * GROUP_BLOCK) {
		for (i = 0; i < GROUP_MOVED; i++) {
			k = first + i * GROUP_BLOCK + mam_thread();
			k = k < count ? k : count - 1;
			tuples[i] = counted->tile.tuples[k];
			bucket = group_key_of(tuples[i]) >> shift & mask;
			from[i] = counted->first[bucket];
			at[i] = k + counted->offset[bucket];
		}
		for (i = 0; i < GROUP_MOVED; i++) {
			if (first + i * GROUP_BLOCK + mam_thread() >= count)
				continue;
			if (rows)
				((uint32_t *)(words + from[i]))[at[i]] = (uint32_t)tuples[i];
			else
				words[from[i] + at[i]] = tuples[i];
		}
	}
}

/*
 * Returns true if all tuples have the same bits above this run's. The tuples are sorted by these.
 */
MAM_KFN bool group_is_one(const struct group_work *work, const struct group_tile *tile,
			  uint32_t count, uint32_t *prefix)
{
	const uint32_t width = mam_popc32(work->mask);
	const uint32_t last = group_key_of(tile->tuples[count - 1]) >> work->shift >> width;

	*prefix = group_key_of(tile->tuples[0]) >> work->shift >> width;
	return *prefix == last;
}

/*
 * Adds one to the counter of each lane's value, combining equal values. Returns the old value
 * before the lane's own.
 */
MAM_KFN uint32_t group_add(uint32_t *counters, bool is, uint32_t value)
{
	const uint32_t came = mam_warp_ballot(GROUP_ALL_LANES, is);
	const uint32_t below = ((uint32_t)1 << mam_lane()) - 1;
	uint32_t peers = 0, before = 0;

	if (is) {
		peers = mam_warp_match32(came, value);
		if ((peers & below) == 0)
			before = mam_atomic_add32(&counters[value], mam_popc32(peers), MAM_RELAXED,
						  MAM_AT_DEVICE);
		before = mam_warp_shuffle32(came, before, mam_ffs32(peers) - 1);
	}
	mam_warp_sync(GROUP_ALL_LANES);
	return before + mam_popc32(peers & below);
}

MAM_KFN void group_count(const struct device_job *job)
{
	MAM_SHARED(struct group_counted, counted);
	const struct group_work *work = group_work_of(job);
	struct group_tile *const tile = &counted->tile;
	const uint32_t first = mam_block() * GROUP_TILE;
	const uint32_t count = group_read_tuples(work, tile, first, work->count - first);
	uint64_t tuples[GROUP_EACH];
	uint32_t ranks[GROUP_EACH / 2], prefix, mine, i;

	if (group_is_one(work, tile, count, &prefix)) {
		mine = group_rank(tile, count, work->shift, work->mask, tuples, ranks);
		if (mine > 0)
			(void)mam_atomic_add32(
				&work->counters[(prefix << mam_popc32(work->mask)) + mam_thread()],
				mine, MAM_RELAXED, MAM_AT_DEVICE);
		return;
	}
	for (i = 0; i < GROUP_EACH; i++)
		(void)group_add(work->counters, group_number(i) < count,
				group_number(i) < count
					? group_key_of(tile->tuples[group_number(i)]) >> work->shift
					: 0);
}
CASE_KERNEL_HELD(group_count, group_count, GROUP_BLOCK, GROUP_HELD)

MAM_KFN void group_place(const struct device_job *job)
{
	MAM_SHARED(struct group_counted, counted);
	const struct group_work *work = group_work_of(job);
	struct group_tile *const tile = &counted->tile;
	const uint32_t base = mam_block() * GROUP_TILE, me = mam_thread();
	const uint32_t count = group_read_tuples(work, tile, base, work->count - base);
	const bool last = work->flags & GROUP_LAST;
	uint64_t tuples[GROUP_EACH], tuple;
	uint32_t ranks[GROUP_EACH / 2], prefix, mine, before, all, i, at;

	if (group_is_one(work, tile, count, &prefix)) {
		mine = group_rank(tile, count, work->shift, work->mask, tuples, ranks);
		before = group_scan(&tile->sums, mine, &all);
		tile->start[me] = before;
		counted->offset[me] = counted->first[me] = 0;
		if (mine > 0)
			counted->offset[me] =
				mam_atomic_add32(
					&work->counters[(prefix << mam_popc32(work->mask)) + me],
					mine, MAM_RELAXED, MAM_AT_DEVICE) -
				before;
		mam_syncthreads();
		group_arrange(tile, count, work->shift, work->mask, tuples, ranks);
		mam_syncthreads();
		group_write_tuples(work, counted, count);
		return;
	}
	for (i = 0; i < GROUP_EACH; i++) {
		tuple = group_number(i) < count ? tile->tuples[group_number(i)] : 0;
		at = group_add(work->counters, group_number(i) < count,
			       group_key_of(tuple) >> work->shift);
		if (group_number(i) >= count)
			continue;
		if (last)
			((uint32_t *)work->words)[at] = (uint32_t)tuple;
		else
			work->words[at] = tuple;
	}
}
CASE_KERNEL_HELD(group_place, group_place, GROUP_BLOCK, GROUP_HELD)

/* A block's piece of the counters, two per thread and round. */
MAM_KFN uint64_t group_pair(uint32_t i)
{
	return ((uint64_t)mam_block() * GROUP_PIECE_PAIRS + i) * GROUP_BLOCK + mam_thread();
}

/* The sum of each piece. */
MAM_KFN void group_sums(const struct device_job *job)
{
	MAM_SHARED(struct group_sums, sums);
	const struct group_work *work = group_work_of(job);
	const uint64_t *const pairs = (const uint64_t *)work->counters;
	uint32_t sum = 0, i, all;
	uint64_t two;

	for (i = 0; i < GROUP_PIECE_PAIRS; i++) {
		two = group_pair(i) < work->counter_count / 2 ? pairs[group_pair(i)] : 0;
		sum += (uint32_t)two + (uint32_t)(two >> 32);
	}
	(void)group_scan(sums, sum, &all);
	if (mam_thread() == 0)
		work->owner[mam_block()] = all;
}
CASE_KERNEL(group_sums, group_sums, GROUP_BLOCK)

/* One block: the sum before each piece; there are work->room of them. */
MAM_KFN void group_tops(const struct device_job *job)
{
	MAM_SHARED(struct group_sums, sums);
	const struct group_work *work = group_work_of(job);
	uint32_t got[GROUP_EACH], at, i, k, sum, all, total = 0;

	for (at = 0; at < work->room; at += GROUP_TILE) {
		sum = 0;
		k = at + mam_thread() * GROUP_EACH;
		for (i = 0; i < GROUP_EACH; i++) {
			got[i] = k + i < work->room ? work->owner[k + i] : 0;
			sum += got[i];
		}
		sum = total + group_scan(sums, sum, &all);
		total += all;
		for (i = 0; i < GROUP_EACH; i++) {
			if (k + i < work->room)
				work->owner[k + i] = sum;
			sum += got[i];
		}
	}
}
CASE_KERNEL(group_tops, group_tops, GROUP_BLOCK)

MAM_KFN void group_starts(const struct device_job *job)
{
	MAM_SHARED(struct group_sums, sums);
	const struct group_work *work = group_work_of(job);
	uint64_t *const pairs = (uint64_t *)work->counters;
	uint64_t two, at;
	uint32_t before, all, i, total = work->owner[mam_block()];

	for (i = 0; i < GROUP_PIECE_PAIRS; i++) {
		at = group_pair(i);
		two = at < work->counter_count / 2 ? pairs[at] : 0;
		before = total + group_scan(sums, (uint32_t)two + (uint32_t)(two >> 32), &all);
		total += all;
		if (at < work->counter_count / 2)
			pairs[at] = (uint64_t)(before + (uint32_t)two) << 32 | before;
	}
}
CASE_KERNEL(group_starts, group_starts, GROUP_BLOCK)

/* One thread per value: each counter now has the end of its group. */
MAM_KFN void group_counted_digests(const struct device_job *job)
{
	const struct group_work *work = group_work_of(job);
	const uint32_t value = device_thread();
	struct group_told said = { 0, 0, 0, 0 };
	struct group_sum sum = { 0, 0, 0 };
	uint32_t i, end;

	if (value >= work->counter_count)
		return;
	i = value > 0 ? work->counters[value - 1] : 0;
	end = work->counters[value];
	if (i == end)
		return;
	for (; i < end; i++)
		group_sum_add(work, &said, &sum, value, ((const uint32_t *)work->words)[i]);
	group_sum_end(&said, &sum);
	group_report(job, &said);
}
CASE_KERNEL(group_counted_digests, group_counted_digests, GROUP_BLOCK)

/* ---- with counters of existing lists ---- */

#define GROUP_KEYS 8u /* loads that a thread has in flight */

MAM_KFN void group_tally(const struct device_job *job)
{
	typedef uint32_t counts_of[GROUP_WARPS][GROUP_BLOCK];
	MAM_SHARED(counts_of, counts);
	const struct group_work *work = group_work_of(job);
	const struct group_unit unit = group_unit_of(work);
	const uint32_t me = mam_thread(), below = ((uint32_t)1 << mam_lane()) - 1;
	uint32_t *const mine = (*counts)[me / 32];
	const uint32_t *const input = work->keys + unit.first, shift = work->shift;
	const uint32_t mask = work->mask;
	const bool is_input = work->from == (const uint64_t *)0;
	const uint64_t *const from = is_input ? work->from : work->from + unit.first;
	uint32_t keys[GROUP_KEYS], i, k, at, bucket, peers, sum = 0;

	for (i = 0; i < GROUP_BLOCK / 32; i++)
		mine[i * 32 + mam_lane()] = 0;
	mam_warp_sync(GROUP_ALL_LANES);
	for (i = 0; i < unit.count; i += GROUP_KEYS * GROUP_BLOCK) {
		for (k = 0; k < GROUP_KEYS; k++) {
			at = i + k * GROUP_BLOCK + me;
			keys[k] = 0;
			if (at < unit.count)
				keys[k] = is_input ? input[at] : group_key_of(from[at]);
		}
		for (k = 0; k < GROUP_KEYS; k++) {
			at = i + k * GROUP_BLOCK + me;
			bucket = at < unit.count ? keys[k] >> shift & mask : GROUP_BLOCK;
			peers = group_peers(bucket);
			if (bucket < GROUP_BLOCK && (peers & below) == 0)
				mine[bucket] += mam_popc32(peers);
			mam_warp_sync(GROUP_ALL_LANES);
		}
	}
	mam_syncthreads();
	for (i = 0; i < GROUP_WARPS; i++)
		sum += (*counts)[i][me];
	if (sum > 0) {
		struct group_list *const list = &work->lists[unit.list * GROUP_BLOCK + me];

		(void)mam_atomic_add32(&list->tuples, sum, MAM_RELAXED, MAM_AT_DEVICE);
		mam_atomic_store32(&list->prefix, unit.prefix << mam_popc32(work->mask) | me,
				   MAM_RELAXED, MAM_AT_DEVICE);
	}
}
CASE_KERNEL(group_tally, group_tally, GROUP_BLOCK)

struct group_splits {
	struct group_sums sums;
	struct group_list lists[GROUP_BLOCK];
	uint32_t units[GROUP_BLOCK];
	uint32_t parents[GROUP_BLOCK];
};

/*
 * One thread per list; one block for the lists of a parent, which began at work->begins of its
 * number.
 */
MAM_KFN void group_split(const struct device_job *job)
{
	MAM_SHARED(struct group_splits, splits);
	const struct group_work *work = group_work_of(job);
	struct group_totals *const totals = work->totals;
	const uint32_t me = mam_thread(), number = mam_block() * GROUP_BLOCK + me;
	const uint32_t each = work->tiles * GROUP_TILE;
	struct group_list list = work->lists[number];
	const bool goes_on = !(work->flags & GROUP_LAST);
	const bool large = goes_on && list.tuples > GROUP_TILE;
	const bool small = goes_on && !large && list.tuples > 0;
	uint32_t *const said = splits->sums.said;
	uint32_t before, all, both, all_both, units, all_units, i, k;
	struct group_unit unit;

	before = group_scan(&splits->sums, list.tuples, &all);
	units = group_scan(&splits->sums, large ? (list.tuples + each - 1) / each : 0, &all_units);
	both = group_scan(&splits->sums, large ? 1u : small ? 1u << 16 : 0, &all_both);
	list.first = before + (work->begins != (const uint32_t *)0 ? work->begins[mam_block()] : 0);
	work->lists[number].first = list.first;
	if (me == 0) {
		said[1] = mam_atomic_add32(&totals->units, all_units, MAM_RELAXED, MAM_AT_DEVICE);
		said[2] = mam_atomic_add32(&totals->parents, all_both & 0xffff, MAM_RELAXED,
					   MAM_AT_DEVICE);
		said[3] = mam_atomic_add32(&totals->smalls, all_both >> 16, MAM_RELAXED,
					   MAM_AT_DEVICE);
	}
	mam_syncthreads();
	if (small)
		work->smalls[said[3] + (both >> 16)] = number;
	splits->parents[me] = said[2] + (both & 0xffff);
	if (large)
		work->next_begins[splits->parents[me]] = list.first;
	splits->lists[me] = list;
	splits->units[me] = units;
	mam_syncthreads();
	for (i = me; i < all_units; i += GROUP_BLOCK) {
		k = group_owner_of(splits->units, i);
		list = splits->lists[k];
		before = (i - splits->units[k]) * each;
		unit.list = splits->parents[k];
		unit.first = list.first + before;
		unit.count = list.tuples - before < each ? list.tuples - before : each;
		unit.prefix = list.prefix;
		MAM_KASSERT(said[1] + i < work->unit_room);
		work->next[said[1] + i] = unit;
	}
}
CASE_KERNEL(group_split, group_split, GROUP_BLOCK)

MAM_KFN void group_move(const struct device_job *job)
{
	MAM_SHARED(struct group_counted, counted);
	const struct group_work *work = group_work_of(job);
	const struct group_unit unit = group_unit_of(work);
	struct group_tile *const tile = &counted->tile;
	const uint32_t me = mam_thread();
	struct group_list *const list = &work->lists[unit.list * GROUP_BLOCK + me];
	uint64_t tuples[GROUP_EACH];
	uint32_t ranks[GROUP_EACH / 2], done, count, mine, before, all;

	counted->first[me] = list->first;
	for (done = 0; done < unit.count; done += count) {
		count = group_read_tuples(work, tile, unit.first + done, unit.count - done);
		mine = group_rank(tile, count, work->shift, work->mask, tuples, ranks);
		before = group_scan(&tile->sums, mine, &all);
		tile->start[me] = before;
		counted->offset[me] = 0;
		if (mine > 0)
			counted->offset[me] =
				mam_atomic_add32(&list->pages, mine, MAM_RELAXED, MAM_AT_DEVICE) -
				before;
		mam_syncthreads();
		group_arrange(tile, count, work->shift, work->mask, tuples, ranks);
		mam_syncthreads();
		group_write_tuples(work, counted, count);
		mam_syncthreads();
	}
}
CASE_KERNEL_HELD(group_move, group_move, GROUP_BLOCK, GROUP_HELD)

/* One block per small list. */
MAM_KFN void group_sort(const struct device_job *job)
{
	MAM_SHARED(struct group_tile, tile);
	const struct group_work *work = group_work_of(job);
	const struct group_list list = work->lists[work->smalls[mam_block()]];
	uint64_t *const tuples = work->words + list.first;
	uint32_t i;

	for (i = mam_thread(); i < list.tuples; i += GROUP_BLOCK)
		tile->tuples[i] = tuples[i];
	mam_syncthreads();
	group_order(tile, list.tuples, work->shift);
	for (i = mam_thread(); i < list.tuples; i += GROUP_BLOCK)
		tuples[i] = tile->tuples[i];
}
CASE_KERNEL_HELD(group_sort, group_sort, GROUP_BLOCK, GROUP_HELD)

/* One thread per list: adds the digests of its groups. */
MAM_KFN void group_sorted_digests(const struct device_job *job)
{
	const struct group_work *work = group_work_of(job);
	const uint32_t number = device_thread(), last = work->flags & GROUP_LAST;
	struct group_told said = { 0, 0, 0, 0 };
	struct group_sum sum = { 0, 0, 0 };
	struct group_list list;
	uint64_t tuple;
	uint32_t i;

	if (number >= work->parents * GROUP_BLOCK)
		return;
	list = work->lists[number];
	if (!last && list.tuples > GROUP_TILE)
		return;
	for (i = 0; i < list.tuples; i++) {
		if (last) {
			group_sum_add(work, &said, &sum, list.prefix,
				      ((const uint32_t *)(work->words + list.first))[i]);
		} else {
			tuple = work->words[list.first + i];
			group_sum_add(work, &said, &sum, group_key_of(tuple), (uint32_t)tuple);
		}
	}
	group_sum_end(&said, &sum);
	group_report(job, &said);
}
CASE_KERNEL(group_sorted_digests, group_sorted_digests, GROUP_BLOCK)

#define CASE_GROUP_COUNTED_KERNELS(each)                                                         \
	CASE_GROUP_KIT_KERNELS(each)                                                             \
	each(group_count) each(group_place) each(group_sums) each(group_tops) each(group_starts) \
		each(group_counted_digests) each(group_tally) each(group_split) each(group_move) \
			each(group_sort) each(group_sorted_digests)

#endif
