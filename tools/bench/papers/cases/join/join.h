/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join.h - the kernels of a hash join in one pass, over lists of pages (lists.h).
 *
 * 1. join_split: a block reads tiles of both tables, sorts each by partition, reserves places in
 *    each partition's list with one atomic, and writes its piece there. If there are more
 *    partitions than a tile can be sorted by, 2^shift of them share an upper list. join_split_again
 *    splits these in the same way and frees their pages as they are read.
 * 2. join_probe (join_probe.h): a block builds a table of one partition's R tuples, and its warps
 *    scan S's pages and write rows.
 * Then, untimed: join_check sums the results, and join_end frees everything.
 *
 * Steps 1 and 2 are repeated for each range of partitions. Results are larger than their inputs: 12
 * bytes from 8 and 8. So memory use peaks when the last range is split, and a smaller last range
 * has fewer tuples; but the tables are read once more for each range.
 *
 * Bound: the latency of a tile is two device atomics and two loads, in addition to reading, writing
 * and one page request; the requests for a block's lists are made together. No block waits for
 * another.
 */
#ifndef MAM_TOOLS_BENCH_CASES_JOIN_H
#define MAM_TOOLS_BENCH_CASES_JOIN_H

#include "bench/papers/cases/join/join_block.h"
#include "bench/papers/cases/join/join_probe.h"

/* ---- splitting ---- */

/* A thread's two partitions of a tile. */
struct join_pair {
	uint64_t *list[2];
	uint32_t page[2], end[2]; /* pages of its pieces */
};

/*
 * Allocates the pages that are in the tile's queue, with as few warps as they fill: a request has a
 * long latency, takes no longer for all lanes of a warp, and fewer warps contend less in the
 * allocator.
 */
MAM_KFN void join_tile_ask(const struct device_job *job, const struct case_lists *lists,
			   const struct join_tile *tile, uint32_t first)
{
	const uint32_t asks = tile->asks;
	uint32_t round, part, page;

	for (round = 0; round < asks; round += JOIN_THREADS) {
		if (round + mam_thread() < asks) {
			part = tile->line[round + mam_thread()];
			page = (tile->from[part % JOIN_PARTS] + lists->items - 1) / lists->items +
			       part / JOIN_PARTS;
			case_list_ask(job, case_list_at(lists, first + part % JOIN_PARTS),
				      lists->direct, lists->page_bytes, page, page + 1);
		}
	}
}

/*
 * Reserves places for each partition's piece of the tile, in the lists starting at number `first`.
 */
MAM_KFN void join_tile_room(const struct device_job *job, struct join_tile *tile,
			    const struct case_lists *lists, uint32_t first, uint32_t parts)
{
	const uint32_t items = lists->items;
	struct join_pair pair;
	uint64_t seen[2][2];
	uint32_t i, k, part, from[2], page;

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
		pair.end[i] = 0;
		if (part < parts && tile->count[part] > 0)
			pair.end[i] = (from[i] + tile->count[part] - 1) / items + 1;
		/* This block alone allocates the pages whose first place is in this tile. */
		page = (from[i] + items - 1) / items;
		for (k = 0; page + k < pair.end[i]; k++)
			tile->line[mam_atomic_add32(&tile->asks, 1, MAM_RELAXED, MAM_AT_BLOCK)] =
				(uint16_t)(part + k * JOIN_PARTS);
	}
	mam_syncthreads();
	join_tile_ask(job, lists, tile, first);
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

/* Sorts the block's tuples, and appends them to the lists starting at number `first`. */
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

MAM_KFN void join_do_split(const struct device_job *job)
{
	MAM_SHARED(struct join_tile, tile);
	const uint32_t n = job->askers, tiles = (n - 1) / JOIN_TILE + 1;
	const uint32_t shift = job->JOIN_SHIFT, base = job->JOIN_FIRST >> shift;
	const struct case_lists lists = shift > 0 ? join_upper(job) : join_lower(job);
	struct join_cut cut;
	uint64_t tuple[JOIN_EACH];
	uint32_t number, here, i, row;

	cut.total = job->JOIN_TOTAL;
	cut.shift = shift;
	cut.base = base;
	cut.parts = ((job->JOIN_LAST - 1) >> shift) + 1 - base;
	for (number = mam_block(); number < 2 * tiles; number += mam_grid_blocks()) {
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
CASE_KERNEL_HELD(join_split, join_do_split, JOIN_THREADS, JOIN_HELD)

/* A tile of a list: whole pages; each warp reads its own. */
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
	return here;
}

/*
 * Frees the pages of that tile after the whole block has read them: all at once, by few warps, as
 * an allocator that orders prior writes waits for them in each request.
 */
MAM_KFN void join_tile_give(const struct device_job *job, const struct case_lists *lists,
			    uint64_t *list, uint32_t from, uint32_t count)
{
	const uint32_t pages = JOIN_TILE / lists->items, first = from / lists->items;
	uint32_t n;
	uint64_t address;

	for (n = mam_thread(); n < pages && (first + n) * lists->items < count; n += JOIN_THREADS) {
		address = case_list_page(job, lists, list, first + n);
		if (address != 0)
			case_list_give(job, lists, address);
	}
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
			mam_syncthreads();
			join_tile_give(job, &upper, list, from, length);
			join_tile_append(job, tile, &lower, table * total + cut.base, &cut, tuple,
					 here);
		}
	}
}
CASE_KERNEL_HELD(join_split_again, join_do_split_again, JOIN_THREADS, JOIN_HELD)

/* ---- untimed ---- */

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
	join_sums_report(job, &sums);
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

#define JOIN_KERNELS(each)                                                                        \
	each(join_make) each(join_split) each(join_split_again) each(join_probe) each(join_check) \
		each(join_end)

#endif
