/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join_probe.h - how a block joins partitions, over lists of pages (lists.h).
 *
 * 1. It builds a table of R's tuples, as many as fit; S is scanned again for the rest.
 * 2. Its warps scan S's pages, one page per warp and round, and append rows to the block's own list
 *    of results.
 * 3. Before a round, it reserves space for as many rows as the round has tuples. The block reuses
 *    the pages that it has read: pages of R, and of S, are kept in a stock, and the lanes of one
 *    warp together allocate the missing ones from the heap. If a round has more rows, pages are
 *    allocated on demand.
 * 4. When the stock is full, a whole warp frees 32 of its pages together; at the end all are freed.
 *
 * So memory use grows only by the difference in size between the results and their inputs.
 *
 * Bound: a round has three block barriers. No block waits for another; a warp that waits for a page
 * that another warp of its block requests makes its own request after a while (lists.h).
 * Invariants: pages of the block's list below `opened` have their address in the list and, the last
 * JOIN_RING of them, in `ring`; `rows` are reserved in it. Between barriers only warps'
 * reservations change.
 */
#ifndef MAM_TOOLS_BENCH_CASES_JOIN_PROBE_H
#define MAM_TOOLS_BENCH_CASES_JOIN_PROBE_H

#include "bench/papers/cases/join/join_block.h"
#include "bench/papers/cases/join/join_job.h"
#include "bench/papers/cases/lists.h"

/* ---- fields of a job: join_job.h ---- */

MAM_KFN struct case_lists join_lists(const struct device_job *job, uint64_t words, uint64_t direct)
{
	struct case_lists lists;

	lists.words = (uint64_t *)(uintptr_t)words;
	lists.direct = (uint32_t)direct;
	lists.page_bytes = job->min;
	lists.items = job->min / 8;
	return lists;
}

/* The lists of upper partitions (2^shift each), of partitions, and of results. */
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

	lists.items = job->min / JOIN_ROW;
	return lists;
}

/* ---- the stock ---- */

/* State of a probing block, in addition to its table. */
struct join_bench {
	struct join_table table;
	uint64_t stock[JOIN_STOCK]; /* unused pages */
	uint64_t ring[JOIN_RING];   /* addresses of pages of results */
	uint32_t stocked;           /* in the stock; above JOIN_STOCK while some are being freed */
	uint32_t rows, opened;      /* of results */
	struct case_lists results;  /* the same in all blocks */
	uint64_t *list;             /* the block's */
};

/* Puts a page that has been read into the stock, or frees it. Lanes must be converged. */
MAM_KFN void join_keep(const struct device_job *job, struct join_bench *bench, uint64_t page)
{
	const uint32_t place =
		page != 0 ? mam_atomic_add32(&bench->stocked, 1, MAM_RELAXED, MAM_AT_BLOCK)
			  : JOIN_STOCK;

	if (place < JOIN_STOCK)
		bench->stock[place] = page;
	else if (page != 0)
		case_list_give(job, &bench->results, page);
}

/*
 * Stores the page's address in the list and in the ring. Frees the page if the list has no place
 * for it.
 */
MAM_KFN void join_enter(const struct device_job *job, struct join_bench *bench, uint32_t page,
			uint64_t address)
{
	uint64_t *const slot = case_list_slot(job, bench->list, bench->results.direct,
					      bench->results.page_bytes, page, true);

	if (slot != NULL)
		mam_atomic_store64(slot, address != 0 ? address : CASE_DEAD, MAM_RELAXED,
				   MAM_AT_DEVICE);
	else if (address != 0)
		case_list_give(job, &bench->results, address);
	bench->ring[page % JOIN_RING] = slot != NULL ? address : 0;
}

/*
 * One thread: caches the last page below `opened`, the one that rows end in, which other threads
 * entered.
 */
MAM_KFN void join_recall(const struct device_job *job, struct join_bench *bench, uint32_t opened)
{
	if (opened > 0)
		bench->ring[(opened - 1) % JOIN_RING] =
			case_list_page(job, &bench->results, bench->list, opened - 1);
}

/*
 * Reserves space for `expected` more rows, at most what JOIN_RING pages hold. Contains block
 * barriers.
 */
MAM_KFN void join_open(const struct device_job *job, struct join_bench *bench, uint32_t expected)
{
	const uint32_t items = bench->results.items;
	uint32_t stocked, begin, end, used, page, mine;
	uint64_t address;

	mam_syncthreads();
	stocked = bench->stocked < JOIN_STOCK ? bench->stocked : JOIN_STOCK;
	if (stocked > JOIN_STOCK - 2 * DEVICE_WARP) {
		stocked -= DEVICE_WARP;
		if (mam_thread() >= mam_block_threads() - DEVICE_WARP)
			case_list_give(job, &bench->results, bench->stock[stocked + mam_lane()]);
	}
	begin = (bench->rows + items - 1) / items;
	begin = begin > bench->opened ? begin : bench->opened;
	end = (bench->rows + expected + items - 1) / items;
	end = end > begin ? end : begin;
	used = end - begin < stocked ? end - begin : stocked;
	for (page = begin; page < end; page += mam_block_threads()) {
		mine = page - begin + mam_thread();
		address = 0;
		if (mine < used)
			address = bench->stock[stocked - 1 - mine];
		else if (begin + mine < end)
			address = (uint64_t)(uintptr_t)case_alloc(job->heap, case_told_of(job),
								  job->flags,
								  bench->results.page_bytes);
		if (begin + mine < end)
			join_enter(job, bench, begin + mine, address);
	}
	mam_syncthreads();
	if (mam_thread() == 0) {
		if (begin > bench->opened)
			join_recall(job, bench, begin);
		bench->stocked = stocked - used;
		bench->opened = end;
	}
	mam_syncthreads();
}

MAM_KFN void join_bench_begin(const struct device_job *job, struct join_bench *bench)
{
	if (mam_thread() == 0) {
		bench->results = join_results(job);
		bench->list = case_list_at(&bench->results, mam_block());
		bench->rows = case_list_count(bench->list);
		bench->opened = (bench->rows + bench->results.items - 1) / bench->results.items;
		bench->stocked = 0;
		join_recall(job, bench, bench->opened);
	}
	mam_syncthreads();
}

/* Frees the rest: the stock, and pages without rows. */
MAM_KFN void join_bench_end(const struct device_job *job, struct join_bench *bench)
{
	const uint32_t items = bench->results.items;
	uint32_t stocked, begin, n;
	uint64_t *slot;

	mam_syncthreads();
	stocked = bench->stocked < JOIN_STOCK ? bench->stocked : JOIN_STOCK;
	begin = (bench->rows + items - 1) / items;
	if (mam_thread() == 0)
		mam_atomic_store32((uint32_t *)bench->list, bench->rows, MAM_RELAXED,
				   MAM_AT_DEVICE);
	for (n = mam_thread(); n < stocked; n += mam_block_threads())
		case_list_give(job, &bench->results, bench->stock[n]);
	for (n = begin + mam_thread(); n < bench->opened; n += mam_block_threads()) {
		if (bench->ring[n % JOIN_RING] != 0)
			case_list_give(job, &bench->results, bench->ring[n % JOIN_RING]);
		slot = case_list_slot(job, bench->list, bench->results.direct,
				      bench->results.page_bytes, n, false);
		if (slot != NULL)
			mam_atomic_store64(slot, 0, MAM_RELAXED, MAM_AT_DEVICE);
	}
}

/* ---- rows ---- */

/* A page of results in which a lane has places; `first`: including its first one. */
MAM_KFN uint64_t join_page_of(const struct device_job *job, struct join_bench *bench, uint32_t page,
			      bool first)
{
	const struct case_lists *const results = &bench->results;

	if (page < bench->opened)
		return bench->ring[page % JOIN_RING];
	if (first)
		case_list_ask(job, bench->list, results->direct, results->page_bytes, page,
			      page + 1);
	return case_list_await(job, results, bench->list, page,
			       case_list_glance(results, bench->list, page));
}

/*
 * Reserves space for `count` rows, at most two pages' worth, by a whole warp: they are in at most
 * three pages, each of which is known to one lane.
 */
MAM_KFN struct join_room join_list_room(const struct device_job *job, struct join_bench *bench,
					uint32_t count)
{
	const uint32_t whole = 0xffffffffu, lane = mam_lane(), items = bench->results.items;
	struct join_room room;
	uint32_t from = 0;
	uint64_t mine = 0;

	if (lane == 0)
		from = mam_atomic_add32(&bench->rows, count, MAM_RELAXED, MAM_AT_BLOCK);
	from = mam_warp_shuffle32(whole, from, 0);
	room.rows = items;
	room.at = from % items;
	if (lane < 3 && lane * items < room.at + count)
		mine = join_page_of(job, bench, from / items + lane, lane > 0 || room.at == 0);
	mam_warp_sync(whole);
	room.piece[0] = mam_warp_shuffle64(whole, mine, 0);
	room.piece[1] = mam_warp_shuffle64(whole, mine, 1);
	room.piece[2] = mam_warp_shuffle64(whole, mine, 2);
	return room;
}

/* Whole warps only. */
MAM_KFN void join_probe_some(const struct device_job *job, struct join_bench *bench,
			     struct join_asked *asked, uint32_t here)
{
	const uint32_t all = join_ask(&bench->table, asked, here), max = 2 * bench->results.items;
	struct join_room room;
	uint32_t done, count;

	for (done = 0; done < all; done += count) {
		count = all - done < max ? all - done : max;
		room = join_list_room(job, bench, count);
		join_write(&bench->table, asked, &room, done, count);
	}
}

/* ---- a partition ---- */

/*
 * Builds the table from R's pages from `begin` to below `end`, and keeps the pages. Contains block
 * barriers.
 */
MAM_KFN void join_load(const struct device_job *job, struct join_bench *bench,
		       const struct case_lists *lists, uint64_t *list, uint32_t count,
		       uint32_t begin, uint32_t end)
{
	const uint32_t items = lists->items, first = begin * items;
	const uint32_t max = end * items < count ? end * items : count;
	uint64_t tuple[JOIN_LOAD / JOIN_THREADS], page;
	uint32_t i, at;

	/* Addresses, then tuples, then the table: loads of one kind are in flight together. */
	JOIN_UNROLLED
	for (i = 0; i < JOIN_LOAD / JOIN_THREADS; i++) {
		at = first + i * mam_block_threads() + mam_thread();
		tuple[i] = at < max ? case_list_page(job, lists, list, at / items) : 0;
	}
	JOIN_UNROLLED
	for (i = 0; i < JOIN_LOAD / JOIN_THREADS; i++) {
		at = first + i * mam_block_threads() + mam_thread();
		page = tuple[i];
		tuple[i] = JOIN_NO_TUPLE;
		if (page != 0)
			tuple[i] = ((const uint64_t *)(uintptr_t)page)[at & (items - 1)];
	}
	join_table_clear(&bench->table);
	JOIN_UNROLLED
	for (i = 0; i < JOIN_LOAD / JOIN_THREADS; i++) {
		if (tuple[i] != JOIN_NO_TUPLE)
			join_table_put(&bench->table, i * mam_block_threads() + mam_thread(),
				       tuple[i]);
	}
	mam_syncthreads();
	if (mam_thread() < end - begin)
		join_keep(job, bench, case_list_page(job, lists, list, begin + mam_thread()));
}

/* A warp's page of S. */
MAM_KFN void join_walk_page(const struct device_job *job, struct join_bench *bench, uint64_t page,
			    uint32_t length)
{
	const uint32_t lane = mam_lane(), each = JOIN_ASKED * DEVICE_WARP;
	struct join_asked asked;
	uint32_t i, k, here;

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
		join_probe_some(job, bench, &asked, here);
	}
}

/* Scans S's pages in rounds and keeps them if `last`. Contains block barriers. */
MAM_KFN void join_walk(const struct device_job *job, struct join_bench *bench,
		       const struct case_lists *lists, uint64_t *list, uint32_t count, bool last)
{
	const uint32_t warps = mam_block_threads() / DEVICE_WARP, items = lists->items;
	const uint32_t pages = (count + items - 1) / items;
	uint32_t round, n, left;
	uint64_t page;

	for (round = 0; round < pages; round += warps) {
		n = round + join_warp();
		left = count - round * items;
		page = n < pages ? case_list_page(job, lists, list, n) : 0;
		join_open(job, bench, left < warps * items ? left : warps * items);
		if (page != 0)
			join_walk_page(job, bench, page,
				       count - n * items < items ? count - n * items : items);
		mam_syncthreads();
		n = round + mam_thread();
		if (last && mam_thread() < warps && n < pages)
			join_keep(job, bench, case_list_page(job, lists, list, n));
	}
}

/* Joins the range's partitions, one block per partition. */
MAM_KFN void join_do_probe(const struct device_job *job)
{
	MAM_SHARED(struct join_bench, bench);
	const struct case_lists lists = join_lower(job);
	const uint32_t load = JOIN_LOAD / lists.items;
	uint32_t part;

	join_bench_begin(job, bench);
	for (part = job->JOIN_FIRST + mam_block(); part < job->JOIN_LAST;
	     part += mam_grid_blocks()) {
		uint64_t *const r = case_list_at(&lists, part);
		uint64_t *const s = case_list_at(&lists, job->JOIN_TOTAL + part);
		const uint32_t count = case_list_count(r), others = case_list_count(s);
		const uint32_t pages = (count + lists.items - 1) / lists.items;
		uint32_t begin = 0, end;

		do {
			end = pages - begin < load ? pages : begin + load;
			join_load(job, bench, &lists, r, count, begin, end);
			join_walk(job, bench, &lists, s, others, end == pages);
			mam_syncthreads();
			begin = end;
		} while (begin < pages);
	}
	join_bench_end(job, bench);
}
CASE_KERNEL_HELD(join_probe, join_do_probe, JOIN_THREADS, JOIN_HELD)

#endif
