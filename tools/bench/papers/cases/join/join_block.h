/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join_block.h - the shared-memory steps of a hash join, independent of how output space is
 * allocated. Included after ask.h.
 *
 * A tile is sorted by partition: each thread has JOIN_EACH tuples; a shared-memory atomic counts a
 * tuple's partition and returns its rank there; a scan computes where partitions begin; then tuples
 * are stored to their places. So neighboring lanes write neighboring words.
 *
 * A partition of R becomes a hash table: chains of tuples by the lower bits of the hash, as
 * partitions use the upper ones. A warp reads 128 tuples of S, counts their matches, reserves space
 * for all their rows at once, and traverses the chains again if there is more than one match, to
 * write rows.
 *
 * Rows are stored in columns: keys, then rows of R, then rows of S, so that writes of neighboring
 * lanes coalesce.
 *
 * Source: R. Rui, H. Li, Y.-C. Tu, "Efficient Join Algorithms for Large Database Tables in a
 * Multi-GPU Environment", PVLDB 14(4), 2021; M. Pham et al., "Dynamic Buffer Management in
 * Massively Parallel Systems: The Power of Randomness", 2024, 6.1 and appendix B.
 */
#ifndef MAM_TOOLS_BENCH_CASES_JOIN_BLOCK_H
#define MAM_TOOLS_BENCH_CASES_JOIN_BLOCK_H

#include "bench/papers/cases/ask.h"
#include "bench/papers/cases/join/join_job.h"
#include "bench/papers/cases/join/join_tables.h"

#define JOIN_THREADS 256u
#define JOIN_HELD 4                     /* blocks per SM that splitting and probing need */
#define JOIN_PROBERS (2 * JOIN_THREADS) /* maximum threads that probe: if there are few blocks */
#define JOIN_WARPS (JOIN_THREADS / DEVICE_WARP)
#define JOIN_EACH 16u /* tuples per thread */
#define JOIN_TILE (JOIN_THREADS * JOIN_EACH)
#define JOIN_PARTS 512u    /* maximum partitions that a tile is sorted by */
#define JOIN_ITEMS_MIN 32u /* tuples of a page */
#define JOIN_STOCK 128u    /* pages that a block keeps */
#define JOIN_RING 64u      /* pages with cached addresses: those of two rounds */
#define JOIN_LOAD 2560u    /* tuples of R that a table holds */
#define JOIN_HEADS 2048u
#define JOIN_ROW 12u /* bytes */

#ifdef __CUDACC__
#define JOIN_UNROLLED _Pragma("unroll")
#else
#define JOIN_UNROLLED
#endif

MAM_KFN uint32_t join_warp(void)
{
	return mam_thread() / DEVICE_WARP;
}

/* The sum of `mine` over lower lanes; *all: over all lanes. Whole warps only. */
MAM_KFN uint32_t join_warp_scan(uint32_t mine, uint32_t *all)
{
	const uint32_t whole = 0xffffffffu, lane = mam_lane();
	uint32_t sum = mine, other, apart;

	for (apart = 1; apart < DEVICE_WARP; apart *= 2) {
		other = mam_warp_shuffle32(whole, sum, lane >= apart ? lane - apart : lane);
		sum += lane >= apart ? other : 0;
	}
	*all = mam_warp_shuffle32(whole, sum, DEVICE_WARP - 1);
	return sum - mine;
}

/* The same over the threads of a block; `sums` in shared memory. Contains block barriers. */
MAM_KFN uint32_t join_block_scan(uint32_t *sums, uint32_t mine, uint32_t *all)
{
	uint32_t of_warp, before = join_warp_scan(mine, &of_warp), i;

	mam_syncthreads();
	if (mam_lane() == 0)
		sums[join_warp()] = of_warp;
	mam_syncthreads();
	*all = 0;
	for (i = 0; i < JOIN_WARPS; i++) {
		before += i < join_warp() ? sums[i] : 0;
		*all += sums[i];
	}
	return before;
}

/* ---- a tile ---- */

/* The partitions that a tile is sorted by. */
struct join_cut {
	uint32_t total; /* number of partitions */
	uint32_t shift; /* 2^shift of them count as one here */
	uint32_t base;  /* number of the first */
	uint32_t parts; /* how many; other tuples are skipped */
};

MAM_KFN uint32_t join_part(const struct join_cut *cut, uint64_t tuple)
{
	return (join_partition((uint32_t)tuple, cut->total) >> cut->shift) - cut->base;
}

struct join_tile {
	uint64_t tuple[JOIN_TILE];
	uint64_t page[2][JOIN_PARTS]; /* where a partition's first and second piece go */
	uint32_t count[JOIN_PARTS];
	uint32_t start[JOIN_PARTS]; /* in the tile */
	uint32_t from[JOIN_PARTS];  /* in the output */
	uint32_t sums[JOIN_WARPS];
	uint32_t asks; /* entries in the queue: pages to allocate */
	uint16_t line[JOIN_PARTS +
		      JOIN_TILE / JOIN_ITEMS_MIN]; /* partitions; JOIN_PARTS per earlier page */
};

/*
 * Sorts the tuples of the block's threads: the i-th of `tuple` is valid if bit i of `here` is set.
 * Returns the total. Starts and ends with a block barrier.
 */
MAM_KFN uint32_t join_tile_sort(struct join_tile *tile, const struct join_cut *cut,
				const uint64_t *tuple, uint32_t here)
{
	const uint32_t first = 2 * mam_thread();
	uint32_t rank[JOIN_EACH / 2] = { 0 }; /* two in each: registers are scarce */
	uint32_t i, mine, part, before, all, ones, twos;

	tile->count[mam_thread()] = tile->count[mam_thread() + JOIN_THREADS] = 0;
	if (mam_thread() == 0)
		tile->asks = 0;
	mam_syncthreads();
	JOIN_UNROLLED
	for (i = 0; i < JOIN_EACH; i++) {
		part = join_part(cut, tuple[i]);
		mine = JOIN_TILE;
		if ((here >> i & 1) && part < cut->parts)
			mine = mam_atomic_add32(&tile->count[part], 1, MAM_RELAXED, MAM_AT_BLOCK);
		rank[i / 2] |= mine << i % 2 * 16;
	}
	mam_syncthreads();
	ones = tile->count[first];
	twos = tile->count[first + 1];
	before = join_block_scan(tile->sums, ones + twos, &all);
	tile->start[first] = before;
	tile->start[first + 1] = before + ones;
	mam_syncthreads();
	JOIN_UNROLLED
	for (i = 0; i < JOIN_EACH; i++) {
		mine = rank[i / 2] >> i % 2 * 16 & 0xffffu;
		if (mine < JOIN_TILE)
			tile->tuple[tile->start[join_part(cut, tuple[i])] + mine] = tuple[i];
	}
	mam_syncthreads();
	return all;
}

/* ---- a table ---- */

#define JOIN_NO_TUPLE UINT64_MAX /* rows are below 2^32 - 1 */

struct join_table {
	uint64_t tuple[JOIN_LOAD];
	uint32_t head[JOIN_HEADS]; /* a tuple's index + 1; 0: none */
	uint16_t next[JOIN_LOAD];
	uint32_t sums[JOIN_WARPS];
	uint32_t rows; /* two passes: written by the block's warps */
};

MAM_KFN uint32_t join_bucket(uint64_t tuple)
{
	return bench_mix((uint32_t)tuple) % JOIN_HEADS;
}

/* Starts and ends with a block barrier. */
MAM_KFN void join_table_clear(struct join_table *table)
{
	uint32_t i;

	for (i = mam_thread(); i < JOIN_HEADS; i += mam_block_threads())
		table->head[i] = 0;
	mam_syncthreads();
}

MAM_KFN void join_table_put(struct join_table *table, uint32_t index, uint64_t tuple)
{
	table->tuple[index] = tuple;
	table->next[index] = (uint16_t)mam_atomic_xchg32(&table->head[join_bucket(tuple)],
							 index + 1, MAM_RELAXED, MAM_AT_BLOCK);
}

#define JOIN_ASKED 4u /* tuples of S that a lane processes at a time */

/* Tuples of S, and their matches. */
struct join_asked {
	uint64_t tuple[JOIN_ASKED];
	uint32_t count[JOIN_ASKED]; /* of matches */
	uint32_t at[JOIN_ASKED];    /* where a search for all matches may begin: index + 1 */
	uint32_t before;            /* rows of lower lanes of this warp */
};

/* The i-th is valid if bit i of `here` is set. Whole warps only; returns the warp's rows. */
MAM_KFN uint32_t join_ask(const struct join_table *table, struct join_asked *asked, uint32_t here)
{
	uint32_t i, at, mine = 0, all;

	JOIN_UNROLLED
	for (i = 0; i < JOIN_ASKED; i++) {
		asked->count[i] = asked->at[i] = 0;
		at = here >> i & 1 ? table->head[join_bucket(asked->tuple[i])] : 0;
		for (; at != 0; at = table->next[at - 1]) {
			if ((uint32_t)table->tuple[at - 1] != (uint32_t)asked->tuple[i])
				continue;
			if (asked->count[i]++ == 0)
				asked->at[i] = at;
		}
		mine += asked->count[i];
	}
	asked->before = join_warp_scan(mine, &all);
	return all;
}

/*
 * Destination of rows: from place `at` of a piece with space for `rows`, continued in further
 * pieces of that size.
 */
struct join_room {
	uint64_t piece[3];
	uint32_t at, rows;
};

/* Writes one row to a place of the output space. */
MAM_KFN void join_put_row(const struct join_room *room, uint32_t place, uint64_t r, uint64_t s)
{
	uint64_t piece = room->piece[0];
	uint32_t *columns;

	if (place >= room->rows) {
		place -= room->rows;
		piece = room->piece[1];
	}
	if (place >= room->rows) {
		place -= room->rows;
		piece = room->piece[2];
	}
	columns = (uint32_t *)(uintptr_t)piece;
	if (columns == NULL)
		return;
	columns[place] = (uint32_t)s;
	columns[place + (uint64_t)room->rows] = (uint32_t)(r >> 32);
	columns[place + 2 * (uint64_t)room->rows] = (uint32_t)(s >> 32);
}

/* Writes the rows that are among `count` of the warp's, starting at `done`. */
MAM_KFN void join_write(const struct join_table *table, const struct join_asked *asked,
			const struct join_room *room, uint32_t done, uint32_t count)
{
	uint32_t row = asked->before - done, i, at, left;
	uint64_t found;

	JOIN_UNROLLED
	for (i = 0; i < JOIN_ASKED; i++) {
		at = asked->at[i];
		for (left = asked->count[i]; left > 0; at = table->next[at - 1]) {
			found = table->tuple[at - 1];
			if ((uint32_t)found != (uint32_t)asked->tuple[i])
				continue;
			left--;
			if (row < count)
				join_put_row(room, room->at + row, found, asked->tuple[i]);
			row++;
		}
	}
}

/* ---- untimed: before and after ---- */

/* Makes the tables: job->got and job->more of job->askers rows each, of its kind. */
MAM_KFN void join_do_make(const struct device_job *job)
{
	const uint32_t n = job->askers;
	uint32_t row;

	for (row = device_thread(); row < n; row += device_threads()) {
		job->got[bench_place(row, n)] =
			join_tuple(join_key_of(join_number_of_r(JOIN_KIND(job), row, n)), row);
		job->more[row] =
			join_tuple(join_key_of(join_number_of_s(JOIN_KIND(job), row, n)), row);
	}
}
CASE_KERNEL(join_make, join_do_make, JOIN_THREADS)

/* Sums over the rows that a thread has read. */
struct join_sums {
	uint64_t count, sum, more;
};

MAM_KFN void join_sums_add(struct join_sums *sums, const uint32_t *columns, uint64_t rows,
			   uint64_t place)
{
	const uint64_t mark =
		join_row_mark(columns[place], columns[rows + place], columns[2 * rows + place]);

	sums->count++;
	sums->sum += mark;
	sums->more += mark * mark;
}

MAM_KFN void join_sums_report(const struct device_job *job, const struct join_sums *sums)
{
	struct case_told *told = case_told_of(job);

	device_report(&told->count, sums->count);
	device_report(&told->sum, sums->sum);
	device_report(&told->more, sums->more);
}

#endif
