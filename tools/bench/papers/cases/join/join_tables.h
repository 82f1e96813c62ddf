/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join_tables.h - the two tables of a hash join, as both the host and the kernels compute them.
 *
 * A tuple is a key and its row number. A key stands for a number. In the first quarter of R's rows
 * each number occurs twice; each other row has a unique number; rows are in random order. S has
 * random numbers below R's row count, so a row of S matches one row of R on average: one in eight
 * matches two, one in eight none, the others one; and a row of R matches none, one or more. So the
 * matches can be computed without reading a table.
 */
#ifndef MAM_TOOLS_BENCH_CASES_JOIN_TABLES_H
#define MAM_TOOLS_BENCH_CASES_JOIN_TABLES_H

#include "bench/harness/mix.h"

enum join_kind {
	JOIN_USUAL,
	JOIN_NONE,  /* nothing matches */
	JOIN_EQUAL, /* all keys are equal: every row matches every other */
};

/* A tuple: the row above, the key below. */
MAM_KBOTH uint64_t join_tuple(uint32_t key, uint32_t row)
{
	return (uint64_t)row << 32 | key;
}

MAM_KBOTH uint32_t join_key_of(uint32_t number)
{
	return number * 0x9e3779b1u + 0x7f4a7c15u;
}

/* Numbers of rows: of R, of S, each of `n` rows. */
MAM_KBOTH uint32_t join_number_of_r(uint32_t kind, uint32_t row, uint32_t n)
{
	if (kind == JOIN_EQUAL)
		return 0;
	return row < n / 4 ? row / 2 : row;
}

MAM_KBOTH uint32_t join_number_of_s(uint32_t kind, uint32_t row, uint32_t n)
{
	if (kind == JOIN_EQUAL)
		return 0;
	return (uint32_t)((uint64_t)bench_mix(row + 0x5bd1e995u) * n >> 32) +
	       (kind == JOIN_NONE ? n : 0);
}

/* A result row's contribution to an order-independent checksum of all rows. */
MAM_KBOTH uint32_t join_row_mark(uint32_t key, uint32_t row_r, uint32_t row_s)
{
	return bench_mix(key ^ bench_mix(row_r + 0x9e3779b9u * bench_mix(row_s ^ 0x27d4eb2fu)));
}

/* The partition of a key: of `total`, by the upper bits of its hash. */
MAM_KBOTH uint32_t join_partition(uint32_t key, uint32_t total)
{
	return (uint32_t)((uint64_t)bench_mix(key) * total >> 32);
}

#endif
