/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_work.h - inputs and outputs of the kernels of `mam bench case`'s group-by, shared by the
 * host and the kernels; and its keys.
 *
 * Terms:
 *   tuple   a key and its row number, 8 bytes
 *   run     of the algorithm: it splits lists by the next 8 bits of the key, from the top
 *   list    tuples whose keys have the same leading bits; a group if no bits of the key are left
 *   page    GROUP_PAGE bytes of a list's tuples, in the last run of its rows only
 *   word    a page's address and fill count; a list consists of these
 *   tile    tuples that a block has in its shared memory at once
 *   unit    a number of tiles of one list that one block processes
 */
#ifndef MAM_TOOLS_BENCH_CASES_GROUP_WORK_H
#define MAM_TOOLS_BENCH_CASES_GROUP_WORK_H

#include "bench/harness/mix.h"

#define GROUP_BLOCK 256u /* threads, and buckets of a run: 2^GROUP_BITS */
#define GROUP_BITS 8u
#define GROUP_EACH 16u /* tuples of a tile per thread */
#define GROUP_TILE (GROUP_BLOCK * GROUP_EACH)
#define GROUP_WARPS (GROUP_BLOCK / 32u)
#define GROUP_RUNS 4u

#define GROUP_PAGE_SHIFT 9
#define GROUP_PAGE (1u << GROUP_PAGE_SHIFT)
#define GROUP_TUPLES_SHIFT (GROUP_PAGE_SHIFT - 3)
#define GROUP_ROWS_SHIFT (GROUP_PAGE_SHIFT - 2)
#define GROUP_TUPLES (1u << GROUP_TUPLES_SHIFT) /* of a page */
#define GROUP_ROWS (1u << GROUP_ROWS_SHIFT)

/*
 * Of a word: the fill count of the page, and whether the page was allocated for exactly that count.
 */
#define GROUP_COUNT 0x7ffu
#define GROUP_EXACT 0x800u
#define GROUP_WORD_SHIFT 12

/*
 * Where the tuples of a list are. Lists of one parent are contiguous, ordered by the bits of their
 * run.
 */
struct group_list {
	uint32_t first; /* word; once words are sorted, one past the last; in two passes a tuple */
	uint32_t pages; /* words; in two passes the tuples placed */
	uint32_t tuples;
	uint32_t prefix; /* the bits of the key that are known */
};

struct group_unit {
	uint32_t list;  /* the number of the parent that its tuples go to */
	uint32_t first; /* word or tuple */
	uint32_t count; /* of these */
	uint32_t prefix;
};

/* Totals of a run. */
struct group_totals {
	uint64_t none;           /* failed requests so far */
	uint32_t pages;          /* made in this run */
	uint32_t placed;         /* words that lists have room for */
	uint32_t units, parents; /* of the next run */
	uint32_t smalls;         /* lists that are finished at once */
	uint32_t spare;
};

#define GROUP_LAST 1u    /* no bits are left after this run */
#define GROUP_EXACTLY 2u /* a group whose full size is known gets only what it needs */

/* Describes a run, in device memory. */
struct group_work {
	const uint32_t *keys; /* the input: a row's key */
	uint32_t count;       /* rows */
	uint32_t flags;
	uint32_t shift, mask;           /* a key's bits of this run */
	uint32_t parents, tiles;        /* tiles of a unit at most; in the next run, too */
	uint32_t room, unit_room;       /* of table, and of next */
	const struct group_unit *units; /* NULL: split the input, one unit per `tiles` tiles */
	const uint64_t *from;           /* sorted words of the previous run; in two passes tuples */
	uint64_t *table;                /* words of this run in order of arrival, and their lists */
	uint32_t *owner;
	struct group_list *lists; /* GROUP_BLOCK per parent */
	uint64_t *words;          /* sorted; in two passes tuples */
	uint32_t *smalls;         /* numbers of lists */
	struct group_unit *next;
	struct group_totals *totals;
	const uint32_t
		*begins; /* in two passes: the first tuple of each parent; and for the next run */
	uint32_t *next_begins;
	uint32_t *counters; /* of all values, in the published two-pass variant */
	uint64_t counter_count;
};

/* Distribution of keys: `spread` in 0 to 20 is the logarithm of a Gaussian's sigma */
#define GROUP_EQUAL 40u
#define GROUP_UNIFORM 41u

/*
 * The key of a row: the sum of four uniform numbers, which is Gaussian up to 3.4 sigma, centered in
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

/* A group's contribution to the checksum over all groups. */
MAM_KBOTH uint64_t group_digest(uint32_t key, uint64_t count, uint64_t rows)
{
	uint64_t x = (rows + 1) * UINT64_C(0x9e3779b97f4a7c15) + count;

	x = (x ^ (x >> 31) ^ key) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 29)) * UINT64_C(0x94d049bb133111eb) + key;
	return x ^ (x >> 32);
}

#endif
