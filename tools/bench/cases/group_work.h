/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_work.h - what the group-by of `mam bench case` is told and what it leaves, as the host and the
 * kernels see it; and its keys.
 *
 * Words:
 *   tuple   a key and the number of its row, 8 bytes
 *   run     of the algorithm: it splits lists by the next 8 bits of the key, from the top
 *   list    tuples whose keys begin alike; a group, where no bit of the key is left
 *   page    GROUP_PAGE bytes of a list's tuples, in the last run of its rows alone
 *   word    a page's address and how much is in it: of these is a list made
 *   tile    tuples that a block has in its shared memory at once
 *   unit    so many tiles of one list, which one block goes through
 */
#ifndef MAM_TOOLS_BENCH_CASES_GROUP_WORK_H
#define MAM_TOOLS_BENCH_CASES_GROUP_WORK_H

#include "bench/mix.h"

#define GROUP_BLOCK 256u /* threads, and buckets of a run: the bits of GROUP_BITS */
#define GROUP_BITS 8u
#define GROUP_EACH 16u /* tuples of a tile, for each thread */
#define GROUP_TILE (GROUP_BLOCK * GROUP_EACH)
#define GROUP_WARPS (GROUP_BLOCK / 32u)
#define GROUP_RUNS 4u

#define GROUP_PAGE_SHIFT 9
#define GROUP_PAGE (1u << GROUP_PAGE_SHIFT)
#define GROUP_TUPLES_SHIFT (GROUP_PAGE_SHIFT - 3)
#define GROUP_ROWS_SHIFT (GROUP_PAGE_SHIFT - 2)
#define GROUP_TUPLES (1u << GROUP_TUPLES_SHIFT) /* of a page */
#define GROUP_ROWS (1u << GROUP_ROWS_SHIFT)

/* Of a word: how much is in the page, and whether that is all there is room for. */
#define GROUP_COUNT 0x7ffu
#define GROUP_EXACT 0x800u
#define GROUP_WORD_SHIFT 12

/* Where the tuples of a list are. Lists of one parent stand together, by the bits of their run. */
struct group_list {
	uint32_t
		first; /* word, once words are in order the one behind the last; of counted ones a tuple */
	uint32_t pages; /* words; of counted ones tuples that were placed */
	uint32_t tuples;
	uint32_t prefix; /* the bits of the key that are known */
};

struct group_unit {
	uint32_t list;  /* whose children its tuples go to: the number of the parent */
	uint32_t first; /* word or tuple */
	uint32_t count; /* of these */
	uint32_t prefix;
};

/* What a run has come to. */
struct group_totals {
	uint64_t none;           /* requests that got nothing, up to now */
	uint32_t pages;          /* made in this run */
	uint32_t placed;         /* words that lists have room for */
	uint32_t units, parents; /* of the next run */
	uint32_t smalls;         /* lists that are finished at once */
	uint32_t spare;
};

#define GROUP_LAST 1u    /* no bits are left behind this run */
#define GROUP_EXACTLY 2u /* what is known to be all of a group gets no more than it needs */

/* Of a run, in device memory. */
struct group_work {
	const uint32_t *keys; /* the input: a row's key */
	uint32_t count;       /* rows */
	uint32_t flags;
	uint32_t shift, mask;     /* a key's bits of this run */
	uint32_t parents, tiles;  /* tiles of a unit at most; in the next run, too */
	uint32_t room, unit_room; /* of table, and of next */
	const struct group_unit
		*units;       /* NULL: the input is split, a unit for each `tiles` tiles */
	const uint64_t *from; /* words of the run before, in order; of counted ones tuples */
	uint64_t *table;      /* words of this run as they came, and whose they are */
	uint32_t *owner;
	struct group_list *lists; /* GROUP_BLOCK for each parent */
	uint64_t *words;          /* in order; of counted ones tuples */
	uint32_t *smalls;         /* numbers of lists */
	struct group_unit *next;
	struct group_totals *totals;
	const uint32_t *
		begins; /* of counted ones: the first tuple of each parent; the same of the next run */
	uint32_t *next_begins;
	uint32_t *counters; /* of all values, in the published way of two passes */
	uint64_t counter_count;
};

/* How keys come about: `spread` in 0 to 20 is the logarithm of a Gaussian's sigma */
#define GROUP_EQUAL 40u
#define GROUP_UNIFORM 41u

/*
 * The key of a row: four uniform numbers' sum, which is Gaussian up to 3.4 sigma, about the middle of
 * the domain. The sum of four of width A has the sigma A / sqrt(3).
 */
MAM_KBOTH uint32_t group_key(uint32_t row, uint32_t spread, uint32_t bits)
{
	const uint32_t middle = (uint32_t)1 << (bits - 1);
	uint32_t width, sum = 0, i;

	if (spread == GROUP_EQUAL)
		return middle + 5;
	if (spread == GROUP_UNIFORM)
		return bench_mix(row + 0x51ed2701u) >> (32 - bits);
	width = (1774u << spread) >> 10;
	for (i = 0; i < 4; i++)
		sum += (uint32_t)((uint64_t)bench_mix(row * 4 + i + 0x2545f491u) * width >> 32);
	return middle + sum - 2 * width;
}

/* What a group adds to the sum over all of them. */
MAM_KBOTH uint64_t group_digest(uint32_t key, uint64_t count, uint64_t rows)
{
	uint64_t x = (rows + 1) * UINT64_C(0x9e3779b97f4a7c15) + count;

	x = (x ^ (x >> 31) ^ key) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 29)) * UINT64_C(0x94d049bb133111eb) + key;
	return x ^ (x >> 32);
}

#endif
