/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join.h - the kernels of a hash join in one pass, over lists of pages (lists.h).
 *
 * 1. join_split: a block takes tiles of both tables, sorts each by partition, appends each partition's
 *    piece to its list with one atomic, and writes it there. Where there are more partitions than a tile
 *    is to be sorted by, 2^shift of them share an upper list, and join_split_again takes these apart the
 *    same way; their pages go back as they are read.
 * 2. join_probe: a block takes a partition, makes a table of R's tuples and gives their pages back. Its
 *    warps walk S's pages, each of which goes back when it is read, and append rows to a list of results.
 *    Of R as much as a table holds at a time; S is walked again for the rest.
 * join_both is join_probe of a range, and join_split of the next one by the blocks that come last: a
 * launch less, and what waits for memory runs beside what waits for an allocator. Results take room
 * when R's pages and some of S's have gone back, so it needs no more memory.
 * Then, not timed: join_check adds up what came out, and join_end gives all back.
 *
 * Steps 1 and 2 are done for one range of partitions after the other. Results are larger than what they
 * came from: 12 bytes of 8 and 8. So the most memory is in use when the last range is split, and its
 * tuples are the fewer the smaller it is; but the tables are read once more for each.
 *
 * Bound: a pass of a tile is two atomics of device memory and two loads long, beside reading, writing and
 * one request for a page; requests of a block's lists are made together. No block waits for another.
 */
#ifndef MAM_TOOLS_BENCH_CASES_JOIN_H
#define MAM_TOOLS_BENCH_CASES_JOIN_H

#include "bench/cases/join_block.h"
#include "bench/cases/join_job.h"
#include "bench/cases/lists.h"

/* ---- what a job says: join_job.h ---- */

MAM_KFN struct case_lists join_lists(const struct device_job *job, uint64_t words, uint64_t direct)
{
	struct case_lists lists;

	lists.words = (uint64_t *)(uintptr_t)words;
	lists.direct = (uint32_t)direct;
	lists.page_bytes = job->least;
	lists.items = job->least / 8;
	return lists;
}

/* Those that share partitions of 2^shift, of the partitions, of results. */
MAM_KFN struct case_lists join_upper(const struct device_job *job)
{
	return join_lists(job, job->JOIN_UPPER, job->JOIN_DIRECT & 0xffffffffu);
}

MAM_KFN struct case_lists join_lower(const struct device_job *job)
{
	return join_lists(job, job->JOIN_LOWER, job->JOIN_DIRECT >> 32);
}

MAM_KFN struct case_lists join_results(const struct device_job *job)
{
	struct case_lists lists =
		join_lists(job, job->JOIN_RESULTS, job->JOIN_RESULT_LISTS & 0xffffffffu);

	lists.items = job->least / JOIN_ROW;
	return lists;
}

/* ---- to split ---- */

/* A thread's two partitions of a tile. */
struct join_pair {
	uint64_t *list[2];
	uint32_t page[2], end[2]; /* pages that its pieces lie in */
	uint32_t ask[2];          /* from here on they are nobody else's to ask for */
};

/* Asks for pages, those of either partition together: a request takes long, and takes no longer for many
 * lanes. By whole warps. */
MAM_KFN void join_tile_ask(const struct device_job *job, const struct case_lists *lists,
			   struct join_pair *pair)
{
	const uint32_t whole = 0xffffffffu;
	bool first;

	for (;;) {
		first = pair->ask[0] < pair->end[0];
		if (mam_warp_ballot(whole, first || pair->ask[1] < pair->end[1]) == 0)
			return;
		if (first || pair->ask[1] < pair->end[1])
			case_list_ask(job, first ? pair->list[0] : pair->list[1], lists->direct,
				      lists->page_bytes, first ? pair->ask[0] : pair->ask[1],
				      (first ? pair->ask[0] : pair->ask[1]) + 1);
		pair->ask[0] += first;
		pair->ask[1] += !first;
		mam_warp_sync(whole);
	}
}

/* Room for each partition's piece of the tile, in the lists from number `first` on. */
MAM_KFN void join_tile_room(const struct device_job *job, struct join_tile *tile,
			    const struct case_lists *lists, uint32_t first, uint32_t parts)
{
	const uint32_t items = lists->items;
	struct join_pair pair;
	uint64_t seen[2][2];
	uint32_t i, part, from[2];

	JOIN_UNROLLED
	for (i = 0; i < 2; i++) {
		part = i * JOIN_THREADS + mam_thread();
		pair.list[i] = case_list_at(lists, first + part);
		from[i] = 0;
		if (part < parts && tile->count[part] > 0)
			from[i] = case_list_reserve(pair.list[i], tile->count[part]);
	}
	JOIN_UNROLLED
	for (i = 0; i < 2; i++) {
		part = i * JOIN_THREADS + mam_thread();
		tile->from[part] = from[i];
		pair.page[i] = from[i] / items;
		pair.ask[i] = (from[i] + items - 1) / items;
		pair.end[i] = 0;
		if (part < parts && tile->count[part] > 0)
			pair.end[i] = (from[i] + tile->count[part] - 1) / items + 1;
	}
	join_tile_ask(job, lists, &pair);
	mam_syncthreads();
	JOIN_UNROLLED
	for (i = 0; i < 2; i++) {
		seen[i][0] = seen[i][1] = 0;
		if (pair.page[i] < pair.end[i])
			seen[i][0] = case_list_glance(lists, pair.list[i], pair.page[i]);
		if (pair.page[i] + 1 < pair.end[i])
			seen[i][1] = case_list_glance(lists, pair.list[i], pair.page[i] + 1);
	}
	JOIN_UNROLLED
	for (i = 0; i < 2; i++) {
		part = i * JOIN_THREADS + mam_thread();
		if (pair.page[i] < pair.end[i])
			tile->page[0][part] =
				case_list_await(job, lists, pair.list[i], pair.page[i], seen[i][0]);
		if (pair.page[i] + 1 < pair.end[i])
			tile->page[1][part] = case_list_await(job, lists, pair.list[i],
							      pair.page[i] + 1, seen[i][1]);
	}
	mam_syncthreads();
}

/* Sorts what the block holds, and appends it to lists from number `first` on. */
MAM_KFN void join_tile_append(const struct device_job *job, struct join_tile *tile,
			      const struct case_lists *lists, uint32_t first,
			      const struct join_cut *cut, const uint64_t *tuple, uint32_t here)
{
	const uint32_t all = join_tile_sort(tile, cut, tuple, here);
	const uint32_t shift = mam_ffs32(lists->items) - 1; /* items are a power of two */
	uint32_t i, part, place, piece;
	uint64_t page;

	join_tile_room(job, tile, lists, first, cut->parts);
	for (i = mam_thread(); i < all; i += JOIN_THREADS) {
		part = join_part(cut, tile->tuple[i]);
		place = tile->from[part] + i - tile->start[part];
		piece = (place >> shift) - (tile->from[part] >> shift);
		page = piece < 2 ? tile->page[piece][part]
				 : case_list_page(job, lists, case_list_at(lists, first + part),
						  place >> shift);
		if (page != 0)
			((uint64_t *)(uintptr_t)page)[place & (lists->items - 1)] = tile->tuple[i];
	}
	mam_syncthreads();
}

/* Tiles from number `number` on, every `step`-th: what of them is in partitions from `first` to below
 * `last`. */
MAM_KFN void join_tables_split(const struct device_job *job, struct join_tile *tile, uint32_t first,
			       uint32_t last, uint32_t number, uint32_t step)
{
	const uint32_t n = job->askers, tiles = (n - 1) / JOIN_TILE + 1;
	const uint32_t shift = job->JOIN_SHIFT, base = first >> shift;
	const struct case_lists lists = shift > 0 ? join_upper(job) : join_lower(job);
	struct join_cut cut;
	uint64_t tuple[JOIN_EACH];
	uint32_t here, i, row;

	cut.total = job->JOIN_TOTAL;
	cut.shift = shift;
	cut.base = base;
	cut.parts = ((last - 1) >> shift) + 1 - base;
	for (; number < 2 * tiles; number += step) {
		const bool of_s = number >= tiles;
		const uint64_t *const table = of_s ? job->more : job->got;

		row = (number - (of_s ? tiles : 0)) * JOIN_TILE + mam_thread();
		here = 0;
		JOIN_UNROLLED
		for (i = 0; i < JOIN_EACH; i++) {
			tuple[i] = 0;
			if (row + i * JOIN_THREADS < n) {
				tuple[i] = table[row + i * JOIN_THREADS];
				here |= 1u << i;
			}
		}
		join_tile_append(job, tile, &lists,
				 (of_s ? ((cut.total - 1) >> shift) + 1 : 0) + base, &cut, tuple,
				 here);
	}
}

MAM_KFN void join_do_split(const struct device_job *job)
{
	MAM_SHARED(struct join_tile, tile);

	join_tables_split(job, tile, job->JOIN_FIRST, job->JOIN_LAST, mam_block(),
			  mam_grid_blocks());
}
CASE_KERNEL_HELD(join_split, join_do_split, JOIN_THREADS, JOIN_HELD)

/* A tile of a list: whole pages, of which each warp reads its own, and gives them back. */
MAM_KFN uint32_t join_tile_read(const struct device_job *job, const struct case_lists *lists,
				uint64_t *list, uint32_t from, uint32_t count, uint64_t *tuple)
{
	const uint32_t whole = 0xffffffffu, lane = mam_lane(), each = JOIN_EACH * DEVICE_WARP;
	const uint32_t first = from + join_warp() * each, page = first / lists->items + lane;
	const bool mine = lane < each / lists->items && page * lists->items < count;
	const uint64_t address = mine ? case_list_page(job, lists, list, page) : 0;
	uint32_t i, here = 0;

	JOIN_UNROLLED
	for (i = 0; i < JOIN_EACH; i++) {
		const uint32_t place = first + i * DEVICE_WARP + lane;
		const uint64_t at =
			mam_warp_shuffle64(whole, address, i * DEVICE_WARP / lists->items);

		tuple[i] = 0;
		if (place < count && at != 0) {
			tuple[i] = ((const uint64_t *)(uintptr_t)at)[place & (lists->items - 1)];
			here |= 1u << i;
		}
	}
	mam_warp_sync(whole);
	if (address != 0)
		case_list_give(job, lists, address);
	return here;
}

MAM_KFN void join_do_split_again(const struct device_job *job)
{
	MAM_SHARED(struct join_tile, tile);
	const struct case_lists upper = join_upper(job), lower = join_lower(job);
	const uint32_t shift = job->JOIN_SHIFT, total = job->JOIN_TOTAL;
	const uint32_t first = job->JOIN_FIRST >> shift;
	const uint32_t count = ((job->JOIN_LAST - 1) >> shift) + 1 - first;
	const uint32_t each = JOIN_BLOCKS(job), uppers = ((total - 1) >> shift) + 1;
	struct join_cut cut;
	uint64_t tuple[JOIN_EACH];
	uint32_t number, here, of, from, length;

	cut.total = total;
	cut.shift = 0;
	for (number = mam_block(); number < 2 * count * each; number += mam_grid_blocks()) {
		const uint32_t table = number / each / count;
		uint64_t *list;

		of = number / each % count + first;
		list = case_list_at(&upper, table * uppers + of);
		length = case_list_count(list);
		cut.base = of << shift;
		cut.parts = total - cut.base < 1u << shift ? total - cut.base : 1u << shift;
		for (from = number % each * JOIN_TILE; from < length; from += each * JOIN_TILE) {
			here = join_tile_read(job, &upper, list, from, length, tuple);
			join_tile_append(job, tile, &lower, table * total + cut.base, &cut, tuple,
					 here);
		}
	}
}
CASE_KERNEL_HELD(join_split_again, join_do_split_again, JOIN_THREADS, JOIN_HELD)

/* ---- to probe ---- */

/*
 * Room for `count` rows, at most two pages', by a whole warp: they lie in three pages at most, each of which
 * has a lane that asks or waits for it.
 */
MAM_KFN struct join_room join_list_room(const struct device_job *job,
					const struct case_lists *lists, uint64_t *list,
					uint32_t count)
{
	const uint32_t whole = 0xffffffffu, lane = mam_lane();
	struct join_room room;
	uint32_t from = 0, page;
	uint64_t mine = 0;
	bool wanted;

	if (lane == 0)
		from = case_list_reserve(list, count);
	from = mam_warp_shuffle32(whole, from, 0);
	room.rows = lists->items;
	room.at = from % lists->items;
	page = from / lists->items + lane;
	wanted = lane < 3 && lane * lists->items < room.at + count;
	if (wanted && (lane > 0 || room.at == 0))
		case_list_ask(job, list, lists->direct, lists->page_bytes, page, page + 1);
	mam_warp_sync(whole);
	if (wanted)
		mine = case_list_await(job, lists, list, page, case_list_glance(lists, list, page));
	mam_warp_sync(whole);
	room.piece[0] = mam_warp_shuffle64(whole, mine, 0);
	room.piece[1] = mam_warp_shuffle64(whole, mine, 1);
	room.piece[2] = mam_warp_shuffle64(whole, mine, 2);
	return room;
}

/* By a whole warp. */
MAM_KFN void join_probe_some(const struct device_job *job, const struct join_table *table,
			     const struct case_lists *results, uint64_t *list,
			     struct join_asked *asked, uint32_t here)
{
	const uint32_t all = join_ask(table, asked, here), most = 2 * results->items;
	struct join_room room;
	uint32_t done, count;

	for (done = 0; done < all; done += count) {
		count = all - done < most ? all - done : most;
		room = join_list_room(job, results, list, count);
		join_write(table, asked, &room, done, count);
	}
}

/* R's pages from `begin` to below `end` become the table, and go back. The block meets. */
MAM_KFN void join_load(const struct device_job *job, struct join_table *table,
		       const struct case_lists *lists, uint64_t *list, uint32_t count,
		       uint32_t begin, uint32_t end)
{
	const uint32_t items = lists->items, first = begin * items;
	const uint32_t most = end * items < count ? end * items : count;
	uint64_t tuple[JOIN_LOAD / JOIN_THREADS], page;
	uint32_t i, at;

	/* Addresses, then tuples, then the table: loads of a kind are on their way together. */
	JOIN_UNROLLED
	for (i = 0; i < JOIN_LOAD / JOIN_THREADS; i++) {
		at = first + i * mam_block_threads() + mam_thread();
		tuple[i] = at < most ? case_list_page(job, lists, list, at / items) : 0;
	}
	JOIN_UNROLLED
	for (i = 0; i < JOIN_LOAD / JOIN_THREADS; i++) {
		at = first + i * mam_block_threads() + mam_thread();
		page = tuple[i];
		tuple[i] = JOIN_NO_TUPLE;
		if (page != 0)
			tuple[i] = ((const uint64_t *)(uintptr_t)page)[at & (items - 1)];
	}
	join_table_clear(table);
	JOIN_UNROLLED
	for (i = 0; i < JOIN_LOAD / JOIN_THREADS; i++) {
		if (tuple[i] != JOIN_NO_TUPLE)
			join_table_put(table, i * mam_block_threads() + mam_thread(), tuple[i]);
	}
	mam_syncthreads();
	if (mam_thread() < end - begin) {
		page = case_list_page(job, lists, list, begin + mam_thread());
		if (page != 0)
			case_list_give(job, lists, page);
	}
}

/* A warp's pages of S; they go back if `last`. */
MAM_KFN void join_walk(const struct device_job *job, const struct join_table *table,
		       const struct case_lists *lists, uint64_t *list, uint32_t count, bool last)
{
	const uint32_t whole = 0xffffffffu, lane = mam_lane();
	const uint32_t warps = mam_block_threads() / DEVICE_WARP;
	const uint32_t pages = (count + lists->items - 1) / lists->items;
	const struct case_lists results = join_results(job);
	uint64_t *const rows =
		case_list_at(&results, mam_block() % (uint32_t)(job->JOIN_RESULT_LISTS >> 32));
	const uint32_t each = JOIN_ASKED * DEVICE_WARP;
	struct join_asked asked;
	uint32_t n, i, k, length, here;
	uint64_t ahead = 0, page;

	for (n = join_warp(); n < pages; n += warps) {
		/* Addresses of 32 pages of this warp's at a time. */
		if (n / warps % DEVICE_WARP == 0)
			ahead = n + lane * warps < pages
					? case_list_page(job, lists, list, n + lane * warps)
					: 0;
		page = mam_warp_shuffle64(whole, ahead, n / warps % DEVICE_WARP);
		if (page == 0)
			continue;
		length = count - n * lists->items;
		length = length < lists->items ? length : lists->items;
		for (i = 0; i < length; i += each) {
			here = 0;
			JOIN_UNROLLED
			for (k = 0; k < JOIN_ASKED; k++) {
				const uint32_t place = i + k * DEVICE_WARP + lane;

				asked.tuple[k] = 0;
				if (place < length) {
					asked.tuple[k] = ((const uint64_t *)(uintptr_t)page)[place];
					here |= 1u << k;
				}
			}
			mam_warp_sync(whole);
			if (last && lane == 0 && i + each >= length)
				case_list_give(job, lists, page);
			mam_warp_sync(whole);
			join_probe_some(job, table, &results, rows, &asked, here);
		}
	}
}

/* One partition: R's pages are a table, piece by piece, and S is walked for each. */
MAM_KFN void join_part_probe(const struct device_job *job, struct join_table *table, uint32_t part)
{
	const struct case_lists lists = join_lower(job);
	const uint32_t step = JOIN_LOAD / lists.items;
	uint64_t *const r = case_list_at(&lists, part);
	uint64_t *const s = case_list_at(&lists, job->JOIN_TOTAL + part);
	const uint32_t count = case_list_count(r), others = case_list_count(s);
	const uint32_t pages = (count + lists.items - 1) / lists.items;
	uint32_t begin = 0, end;

	do {
		end = pages - begin < step ? pages : begin + step;
		join_load(job, table, &lists, r, count, begin, end);
		join_walk(job, table, &lists, s, others, end == pages);
		mam_syncthreads();
		begin = end;
	} while (begin < pages);
}

MAM_KFN void join_do_probe(const struct device_job *job)
{
	MAM_SHARED(struct join_table, table);
	uint32_t part;

	for (part = job->JOIN_FIRST + mam_block(); part < job->JOIN_LAST; part += mam_grid_blocks())
		join_part_probe(job, table, part);
}
CASE_KERNEL_HELD(join_probe, join_do_probe, JOIN_PROBERS, JOIN_HELD / 2)

union join_shared {
	struct join_tile tile;
	struct join_table table;
};

/* A range is probed by a block each partition, and by the blocks behind these the next one is split. */
MAM_KFN void join_do_both(const struct device_job *job)
{
	MAM_SHARED(union join_shared, shared);
	const uint32_t parts = job->JOIN_LAST - job->JOIN_FIRST;

	if (mam_block() < parts)
		join_part_probe(job, &shared->table, job->JOIN_FIRST + mam_block());
	else
		join_tables_split(job, &shared->tile, job->JOIN_LAST, (uint32_t)job->JOIN_NEXT,
				  mam_block() - parts, mam_grid_blocks() - parts);
}
CASE_KERNEL_HELD(join_both, join_do_both, JOIN_THREADS, JOIN_HELD)

/* ---- behind the clock ---- */

MAM_KFN void join_do_check(const struct device_job *job)
{
	const struct case_lists lists = join_results(job);
	struct join_sums sums = { 0, 0, 0 };
	uint32_t n, i;
	uint64_t page;

	for (n = mam_block(); n < job->JOIN_RESULT_LISTS >> 32; n += mam_grid_blocks()) {
		uint64_t *const list = case_list_at(&lists, n);

		for (i = mam_thread(); i < case_list_count(list); i += JOIN_THREADS) {
			page = case_list_page(job, &lists, list, i / lists.items);
			if (page != 0)
				join_sums_add(&sums, (const uint32_t *)(uintptr_t)page, lists.items,
					      i % lists.items);
		}
	}
	join_sums_tell(job, &sums);
}
CASE_KERNEL(join_check, join_do_check, JOIN_THREADS)

MAM_KFN void join_do_end(const struct device_job *job)
{
	const struct case_lists upper = join_upper(job), lower = join_lower(job),
				results = join_results(job);
	const uint32_t uppers =
		job->JOIN_SHIFT > 0 ? ((job->JOIN_TOTAL - 1) >> job->JOIN_SHIFT) + 1 : 0;
	uint32_t n;

	for (n = mam_block(); n < 2 * uppers; n += mam_grid_blocks())
		case_list_end(job, &upper, case_list_at(&upper, n), false);
	for (n = mam_block(); n < 2 * job->JOIN_TOTAL; n += mam_grid_blocks())
		case_list_end(job, &lower, case_list_at(&lower, n), false);
	for (n = mam_block(); n < job->JOIN_RESULT_LISTS >> 32; n += mam_grid_blocks())
		case_list_end(job, &results, case_list_at(&results, n), true);
}
CASE_KERNEL(join_end, join_do_end, JOIN_THREADS)

#define JOIN_KERNELS(each)                                                                       \
	each(join_make) each(join_split) each(join_split_again) each(join_probe) each(join_both) \
		each(join_check) each(join_end)

#endif
