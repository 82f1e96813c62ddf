/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_tile.h - a tile of tuples in a block's shared memory, for the group-by of `mam bench case`:
 * the bucket of each tuple and its rank there, sorting the tile by bucket, and a full sort of a
 * tile.
 *
 * Ranks are computed as in radix sorts: each warp has its own counters. It processes its part of
 * the tile 32 tuples at a time. Eight ballots, one per bit, find the lanes with the same bucket,
 * and the lowest of them adds to the counter. So no bucket is contended, whatever the keys are, and
 * the sort is stable. Then the counters of a bucket are summed over warps, and over buckets.
 *
 * Bound: GROUP_EACH times 8 ballots, two scans. All threads of a block of GROUP_BLOCK must call
 * each function; tuple i of warp w and lane l is number 512 w + 32 i + l of the tile.
 */
#ifndef MAM_TOOLS_BENCH_CASES_GROUP_TILE_H
#define MAM_TOOLS_BENCH_CASES_GROUP_TILE_H

#include "bench/papers/cases/ask.h"
#include "bench/papers/cases/group/group_work.h"

#define GROUP_ALL_LANES 0xffffffffu
/* Blocks that an SM must hold: as many as fit into its shared memory. */
#ifndef GROUP_HELD
#define GROUP_HELD 4
#endif

struct group_sums {
	uint32_t warps[GROUP_WARPS];
	uint32_t said[4]; /* broadcast by one thread to all */
};

struct group_tile {
	uint64_t tuples[GROUP_TILE];
	uint16_t counts[GROUP_WARPS][GROUP_BLOCK]; /* later: where they begin in the bucket */
	uint32_t start[GROUP_BLOCK];               /* of a bucket, in the tile */
	struct group_sums sums;
};

MAM_KFN uint64_t group_tuple(uint32_t key, uint32_t row)
{
	return (uint64_t)key << 32 | row;
}

MAM_KFN uint32_t group_key_of(uint64_t tuple)
{
	return (uint32_t)(tuple >> 32);
}

/* Exclusive prefix sum of one value per thread. *all: the total. */
MAM_KFN uint32_t group_scan(struct group_sums *sums, uint32_t mine, uint32_t *all)
{
	const uint32_t lane = mam_lane(), warp = mam_thread() / 32;
	uint32_t sum = mine, step, other, before = 0, i;

	for (step = 1; step < 32; step *= 2) {
		other = mam_warp_shuffle32(GROUP_ALL_LANES, sum, lane >= step ? lane - step : lane);
		if (lane >= step)
			sum += other;
	}
	mam_syncthreads();
	if (lane == 31)
		sums->warps[warp] = sum;
	mam_syncthreads();
	*all = 0;
	for (i = 0; i < GROUP_WARPS; i++) {
		other = sums->warps[i];
		before += i < warp ? other : 0;
		*all += other;
	}
	return before + sum - mine;
}

MAM_KFN uint32_t group_number(uint32_t i)
{
	return mam_thread() / 32 * (GROUP_EACH * 32) + i * 32 + mam_lane();
}

/* Returns the lanes with the caller's bucket; lanes without one pass a number above all buckets. */
MAM_KFN uint32_t group_peers(uint32_t bucket)
{
	uint32_t peers = GROUP_ALL_LANES, bit, vote;

	for (bit = 0; bit <= GROUP_BITS; bit++) {
		vote = mam_warp_ballot(GROUP_ALL_LANES, bucket >> bit & 1);
		peers &= bucket >> bit & 1 ? vote : ~vote;
	}
	return peers;
}

/*
 * Reads the tile's first `count` tuples, and sets the rank of each among those of its bucket and
 * warp, two per word. Returns the size of the bucket with the thread's number; tile->counts then
 * has the start of each warp's part.
 */
MAM_KFN uint32_t group_rank(struct group_tile *tile, uint32_t count, uint32_t shift, uint32_t mask,
			    uint64_t tuples[GROUP_EACH], uint32_t ranks[GROUP_EACH / 2])
{
	const uint32_t warp = mam_thread() / 32, below = ((uint32_t)1 << mam_lane()) - 1;
	uint16_t *const counts = tile->counts[warp];
	uint32_t i, bucket, peers, before, sum = 0, one;

	for (i = 0; i < GROUP_EACH; i++)
		tuples[i] = group_number(i) < count ? tile->tuples[group_number(i)] : 0;
	for (i = 0; i < GROUP_BLOCK / 32; i++)
		counts[i * 32 + mam_lane()] = 0;
	mam_warp_sync(GROUP_ALL_LANES);
	for (i = 0; i < GROUP_EACH; i++) {
		/* Uniform over the warp: skip rounds past the end of the warp's part. */
		if (group_number(i) - mam_lane() >= count)
			continue;
		bucket = group_number(i) < count ? group_key_of(tuples[i]) >> shift & mask
						 : GROUP_BLOCK;
		peers = group_peers(bucket);
		before = bucket < GROUP_BLOCK ? counts[bucket] : 0;
		mam_warp_sync(GROUP_ALL_LANES);
		if (bucket < GROUP_BLOCK && (peers & below) == 0)
			counts[bucket] = (uint16_t)(before + mam_popc32(peers));
		mam_warp_sync(GROUP_ALL_LANES);
		before += mam_popc32(peers & below);
		if (i % 2 == 0)
			ranks[i / 2] = before;
		else
			ranks[i / 2] |= before << 16;
	}
	mam_syncthreads();
	for (i = 0; i < GROUP_WARPS; i++) {
		one = tile->counts[i][mam_thread()];
		tile->counts[i][mam_thread()] = (uint16_t)sum;
		sum += one;
	}
	return sum;
}

/* Writes the tuples back, sorted by bucket; sets tile->start, and ends with a barrier. */
MAM_KFN void group_arrange(struct group_tile *tile, uint32_t count, uint32_t shift, uint32_t mask,
			   const uint64_t tuples[GROUP_EACH], const uint32_t ranks[GROUP_EACH / 2])
{
	const uint32_t warp = mam_thread() / 32;
	uint32_t i, bucket;

	for (i = 0; i < GROUP_EACH; i++) {
		bucket = group_key_of(tuples[i]) >> shift & mask;
		if (group_number(i) < count)
			tile->tuples[tile->start[bucket] + tile->counts[warp][bucket] +
				     (ranks[i / 2] >> i % 2 * 16 & 0xffff)] = tuples[i];
	}
}

/*
 * Sorts the tile by the lowest `bits` bits of the keys. The caller has a barrier before it, and it
 * ends with one.
 */
MAM_KFN void group_order(struct group_tile *tile, uint32_t count, uint32_t bits)
{
	uint64_t tuples[GROUP_EACH];
	uint32_t ranks[GROUP_EACH / 2], shift, mine, all;

	for (shift = 0; shift < bits; shift += GROUP_BITS) {
		mine = group_rank(tile, count, shift, GROUP_BLOCK - 1, tuples, ranks);
		tile->start[mam_thread()] = group_scan(&tile->sums, mine, &all);
		mam_syncthreads();
		group_arrange(tile, count, shift, GROUP_BLOCK - 1, tuples, ranks);
		mam_syncthreads();
	}
}

/* ---- outside the runs ---- */

MAM_KFN const struct group_work *group_work_of(const struct device_job *job)
{
	return (const struct group_work *)(uintptr_t)job->own[0];
}

/* The unit of a block; without units, a part of the input. */
MAM_KFN struct group_unit group_unit_of(const struct group_work *work)
{
	const uint32_t tuples = work->tiles * GROUP_TILE;
	struct group_unit unit;

	if (work->units != (const struct group_unit *)0)
		return work->units[mam_block()];
	unit.list = unit.prefix = 0;
	unit.first = mam_block() * tuples;
	unit.count = work->count - unit.first < tuples ? work->count - unit.first : tuples;
	return unit;
}

/* Of ascending numbers, one per bucket: the last one that is not above `i`. */
MAM_KFN uint32_t group_owner_of(const uint32_t *first, uint32_t i)
{
	uint32_t bucket = 0, step;

	for (step = GROUP_BLOCK / 2; step > 0; step /= 2) {
		if (first[bucket + step] <= i)
			bucket += step;
	}
	return bucket;
}

/* Makes the input at job->numbers: job->own[1] keys of spread job->own[2], of job->own[3] bits. */
MAM_KFN void group_fill(const struct device_job *job)
{
	uint32_t row;

	for (row = device_thread(); row < job->own[1]; row += device_threads())
		job->numbers[row] = group_key(row, (uint32_t)job->own[2], (uint32_t)job->own[3]);
}
CASE_KERNEL(group_fill, group_fill, GROUP_BLOCK)

/* Zeroes job->own[1] words at job->got. */
MAM_KFN void group_clear(const struct device_job *job)
{
	uint64_t i;

	for (i = device_thread(); i < job->own[1]; i += device_threads())
		job->got[i] = 0;
}
CASE_KERNEL(group_clear, group_clear, GROUP_BLOCK)

/*
 * One thread's part of the result: the current group while its tuples follow each other, and the
 * groups so far.
 */
struct group_sum {
	uint32_t key;
	uint64_t count, rows;
};

struct group_told {
	uint64_t groups, digest, rows, wrong;
};

MAM_KFN void group_sum_end(struct group_told *told, struct group_sum *sum)
{
	if (sum->count == 0)
		return;
	told->groups++;
	told->digest += group_digest(sum->key, sum->count, sum->rows);
	told->rows += sum->count;
	sum->count = sum->rows = 0;
}

MAM_KFN void group_sum_add(const struct group_work *work, struct group_told *told,
			   struct group_sum *sum, uint32_t key, uint32_t row)
{
	if (key != sum->key)
		group_sum_end(told, sum);
	if (row >= work->count || work->keys[row] != key)
		told->wrong++;
	sum->key = key;
	sum->count++;
	sum->rows += row;
}

MAM_KFN void group_report(const struct device_job *job, const struct group_told *what)
{
	struct case_told *const told = case_told_of(job);

	device_report(&told->own[0], what->groups);
	device_report(&told->own[1], what->digest);
	device_report(&told->own[2], what->rows);
	device_report(&told->wrong, what->wrong);
}

#define CASE_GROUP_KIT_KERNELS(each) each(group_fill) each(group_clear)

#endif
