/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join_counted.h - the kernels of a hash join that counts before it writes, in two passes, as
 * published.
 *
 * 1. joinc_count: count the tuples of each partition in shared memory, then add them to the
 *    counters of all blocks.
 * 2. joinc_scan: compute where each partition begins, one block per table.
 * 3. joinc_scatter: a block reads tiles, sorts each by partition, reserves space after each
 *    partition's written tuples with one atomic, and writes its piece there. If there are more
 *    partitions than a tile can be sorted by, steps 1 to 3 use the upper bits of their numbers,
 *    then run again within those.
 * 4. joinc_probe counts each partition's rows; 2. runs again; the host allocates space for all;
 *    joinc_probe runs again and writes them.
 *
 * Source: join_block.h, whose tiles and tables it uses.
 * Bound: each tuple is read twice for each time it is written, and probed twice.
 */
#ifndef MAM_TOOLS_BENCH_CASES_JOIN_COUNTED_H
#define MAM_TOOLS_BENCH_CASES_JOIN_COUNTED_H

#include "bench/papers/cases/join/join_block.h"

/* A part of a table that several blocks read. */
struct joinc_piece {
	struct join_cut cut;
	const uint64_t *in;
	uint64_t *out;
	uint32_t *counts; /* of its partitions */
	uint32_t from, end, step;
};

/* Counters of a table. */
MAM_KFN uint32_t joinc_places(const struct device_job *job)
{
	return ((job->JOIN_TOTAL - 1) >> job->JOIN_SHIFT) + 2;
}

/*
 * The number-th piece of a whole table, or of an upper partition. Returns false if there are fewer
 * pieces.
 */
MAM_KFN bool joinc_piece(const struct device_job *job, uint32_t number, struct joinc_piece *piece)
{
	const uint32_t each = JOIN_BLOCKS(job), total = job->JOIN_TOTAL;
	const uint32_t again = JOIN_AGAIN(job);
	const uint32_t uppers = again > 0 ? ((total - 1) >> again) + 1 : 1;
	const uint32_t table = job->JOIN_TABLE + number / each / uppers;
	const uint32_t of = number / each % uppers;
	const uint32_t *within = (const uint32_t *)(uintptr_t)job->JOIN_WITHIN;

	if (table >= job->JOIN_TABLES)
		return false;
	piece->cut.total = total;
	piece->cut.shift = job->JOIN_SHIFT;
	piece->cut.base = again > 0 ? of << again : 0;
	piece->cut.parts = ((total - 1) >> job->JOIN_SHIFT) + 1 - piece->cut.base;
	if (again > 0 && piece->cut.parts > 1u << again)
		piece->cut.parts = 1u << again;
	piece->in = table == 0 ? job->got : job->more;
	piece->out = table == 0 ? job->JOIN_R_TO : (uint64_t *)(uintptr_t)job->JOIN_S_TO;
	piece->counts = job->JOIN_COUNTS + (uint64_t)table * joinc_places(job) + piece->cut.base;
	piece->from = 0;
	piece->end = job->askers;
	if (again > 0) {
		piece->from = within[table * (uppers + 1) + of];
		piece->end = within[table * (uppers + 1) + of + 1];
	}
	piece->from += number % each * JOIN_TILE;
	piece->step = each * JOIN_TILE;
	return true;
}

/* ---- counting ---- */

struct joinc_counts {
	uint32_t count[JOIN_PARTS];
};

MAM_KFN void joinc_do_count(const struct device_job *job)
{
	MAM_SHARED(struct joinc_counts, counts);
	struct joinc_piece piece;
	uint64_t tuple[JOIN_EACH];
	uint32_t number, from, i, part;

	for (number = mam_block(); joinc_piece(job, number, &piece); number += mam_grid_blocks()) {
		for (i = mam_thread(); i < JOIN_PARTS; i += JOIN_THREADS)
			counts->count[i] = 0;
		mam_syncthreads();
		for (from = piece.from + mam_thread(); from < piece.end; from += piece.step) {
			JOIN_UNROLLED
			for (i = 0; i < JOIN_EACH; i++) {
				if (from + i * JOIN_THREADS < piece.end)
					tuple[i] = piece.in[from + i * JOIN_THREADS];
			}
			JOIN_UNROLLED
			for (i = 0; i < JOIN_EACH; i++) {
				if (from + i * JOIN_THREADS < piece.end)
					(void)mam_atomic_add32(
						&counts->count[join_part(&piece.cut, tuple[i])], 1,
						MAM_RELAXED, MAM_AT_BLOCK);
			}
		}
		mam_syncthreads();
		for (part = mam_thread(); part < piece.cut.parts; part += JOIN_THREADS) {
			if (counts->count[part] > 0)
				(void)mam_atomic_add32(&piece.counts[part], counts->count[part],
						       MAM_RELAXED, MAM_AT_DEVICE);
		}
		mam_syncthreads();
	}
}
CASE_KERNEL(joinc_count, joinc_do_count, JOIN_THREADS)

/* ---- scanning ---- */

struct joinc_sums {
	uint32_t sums[JOIN_WARPS];
};

/* Computes where each table's partitions begin, and writes that to the counters, too. */
MAM_KFN void joinc_do_scan(const struct device_job *job)
{
	MAM_SHARED(struct joinc_sums, shared);
	const uint32_t places = joinc_places(job), count = places - 1;
	const uint32_t each = (count + JOIN_THREADS - 1) / JOIN_THREADS;
	const uint32_t table = job->JOIN_TABLE + mam_block();
	uint32_t *const counts = job->JOIN_COUNTS + (uint64_t)table * places;
	uint32_t *const bounds = (uint32_t *)(uintptr_t)job->JOIN_BOUNDS + (uint64_t)table * places;
	const uint32_t begin = mam_thread() * each;
	const uint32_t end = begin + each < count ? begin + each : count;
	uint32_t i, mine = 0, all, was;

	for (i = begin; i < end; i++)
		mine += counts[i];
	mine = join_block_scan(shared->sums, mine, &all);
	for (i = begin; i < end; i++) {
		was = counts[i];
		bounds[i] = counts[i] = mine;
		mine += was;
	}
	if (mam_thread() == 0)
		bounds[count] = counts[count] = all;
}
CASE_KERNEL(joinc_scan, joinc_do_scan, JOIN_THREADS)

/* ---- writing sorted tuples ---- */

MAM_KFN void joinc_do_scatter(const struct device_job *job)
{
	MAM_SHARED(struct join_tile, tile);
	struct joinc_piece piece;
	uint64_t tuple[JOIN_EACH];
	uint32_t number, from, i, here, all, part;

	for (number = mam_block(); joinc_piece(job, number, &piece); number += mam_grid_blocks()) {
		for (from = piece.from; from < piece.end; from += piece.step) {
			here = 0;
			JOIN_UNROLLED
			for (i = 0; i < JOIN_EACH; i++) {
				const uint32_t place = from + i * JOIN_THREADS + mam_thread();

				tuple[i] = 0;
				if (place < piece.end) {
					tuple[i] = piece.in[place];
					here |= 1u << i;
				}
			}
			all = join_tile_sort(tile, &piece.cut, tuple, here);
			for (part = mam_thread(); part < piece.cut.parts; part += JOIN_THREADS) {
				if (tile->count[part] > 0)
					tile->from[part] = mam_atomic_add32(
						&piece.counts[part], tile->count[part], MAM_RELAXED,
						MAM_AT_DEVICE);
			}
			mam_syncthreads();
			for (i = mam_thread(); i < all; i += JOIN_THREADS) {
				part = join_part(&piece.cut, tile->tuple[i]);
				piece.out[tile->from[part] + i - tile->start[part]] =
					tile->tuple[i];
			}
			mam_syncthreads();
		}
	}
}
CASE_KERNEL_HELD(joinc_scatter, joinc_do_scatter, JOIN_THREADS, JOIN_HELD)

/* ---- probing ---- */

/* Whole warps only; counts rows, or writes them after those of other warps. */
MAM_KFN void joinc_probe_some(const struct device_job *job, struct join_table *table,
			      struct join_asked *asked, uint32_t here)
{
	const uint32_t whole = 0xffffffffu, all = join_ask(table, asked, here);
	struct join_room room;
	uint32_t from = 0;

	if (mam_lane() == 0 && all > 0)
		from = mam_atomic_add32(&table->rows, all, MAM_RELAXED, MAM_AT_BLOCK);
	if (job->JOIN_OUT == 0)
		return;
	room.piece[0] = room.piece[1] = room.piece[2] = job->JOIN_OUT;
	room.at = mam_warp_shuffle32(whole, from, 0);
	room.rows = (uint32_t)job->JOIN_OUT_ROWS;
	join_write(table, asked, &room, 0, all);
}

MAM_KFN void joinc_load(struct join_table *table, const uint64_t *r, uint32_t count)
{
	uint64_t tuple[JOIN_LOAD / JOIN_THREADS];
	uint32_t i;

	JOIN_UNROLLED
	for (i = 0; i < JOIN_LOAD / JOIN_THREADS; i++) {
		const uint32_t at = i * mam_block_threads() + mam_thread();

		tuple[i] = at < count ? r[at] : JOIN_NO_TUPLE;
	}
	join_table_clear(table);
	JOIN_UNROLLED
	for (i = 0; i < JOIN_LOAD / JOIN_THREADS; i++) {
		if (tuple[i] != JOIN_NO_TUPLE)
			join_table_put(table, i * mam_block_threads() + mam_thread(), tuple[i]);
	}
	mam_syncthreads();
}

MAM_KFN void joinc_walk(const struct device_job *job, struct join_table *table, const uint64_t *s,
			uint32_t count)
{
	const uint32_t lane = mam_lane(), each = JOIN_ASKED * DEVICE_WARP;
	struct join_asked asked;
	uint32_t i, k, here;

	for (i = join_warp() * each; i < count; i += mam_block_threads() * JOIN_ASKED) {
		here = 0;
		JOIN_UNROLLED
		for (k = 0; k < JOIN_ASKED; k++) {
			const uint32_t at = i + k * DEVICE_WARP + lane;

			asked.tuple[k] = at < count ? s[at] : 0;
			here |= (at < count ? 1u : 0u) << k;
		}
		joinc_probe_some(job, table, &asked, here);
	}
}

/*
 * Partitions' rows are the counters of one more table; in the writing pass they contain the starts.
 */
MAM_KFN void joinc_do_probe(const struct device_job *job)
{
	MAM_SHARED(struct join_table, table);
	const uint32_t total = job->JOIN_TOTAL;
	const uint32_t *const bounds = (const uint32_t *)(uintptr_t)job->JOIN_BOUNDS;
	uint32_t *const rows = (uint32_t *)(uintptr_t)job->JOIN_ROWS;
	uint32_t part, begin;

	for (part = mam_block(); part < total; part += mam_grid_blocks()) {
		const uint32_t r = bounds[part], count = bounds[part + 1] - r;
		const uint32_t s = bounds[total + 1 + part], others = bounds[total + 2 + part] - s;

		if (mam_thread() == 0)
			table->rows = job->JOIN_OUT == 0 ? 0 : rows[part];
		for (begin = 0; begin < count; begin += JOIN_LOAD) {
			joinc_load(table, job->got + r + begin,
				   count - begin < JOIN_LOAD ? count - begin : JOIN_LOAD);
			joinc_walk(job, table, job->more + s, others);
			mam_syncthreads();
		}
		mam_syncthreads();
		if (mam_thread() == 0 && job->JOIN_OUT == 0)
			rows[part] = table->rows;
		mam_syncthreads();
	}
}
CASE_KERNEL_HELD(joinc_probe, joinc_do_probe, JOIN_PROBERS, JOIN_HELD / 2)

/* ---- untimed ---- */

MAM_KFN void joinc_do_check(const struct device_job *job)
{
	const uint32_t *const columns = (const uint32_t *)(uintptr_t)job->JOIN_OUT;
	struct join_sums sums = { 0, 0, 0 };
	uint64_t i;

	for (i = device_thread(); i < job->JOIN_OUT_ROWS; i += device_threads())
		join_sums_add(&sums, columns, job->JOIN_OUT_ROWS, i);
	join_sums_report(job, &sums);
}
CASE_KERNEL(joinc_check, joinc_do_check, JOIN_THREADS)

#define JOINC_KERNELS(each)                                                                      \
	each(join_make) each(joinc_count) each(joinc_scan) each(joinc_scatter) each(joinc_probe) \
		each(joinc_check)

#endif
