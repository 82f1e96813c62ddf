/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_shared.c - shared memory: one piece per block and name, uninitialized, freed with its block.
 */
#include "device/port.h"
#include "simt/expect.h"

struct table {
	uint32_t sum;
	unsigned char old[60];
};

MAM_KERNEL(sums)
{
	uint32_t *out = argument;

	MAM_SHARED(struct table, table);
	MAM_SHARED(uint64_t, other);
	MAM_KASSERT((void *)table != (void *)other);
	MAM_KASSERT((uintptr_t)table % 16 == 0);
	if (mam_thread() == 0)
		mam_atomic_store32(&table->sum, 0, MAM_RELAXED, MAM_AT_BLOCK);
	mam_syncthreads();
	mam_atomic_add32(&table->sum, mam_block() + 1, MAM_RELAXED, MAM_AT_BLOCK);
	mam_syncthreads();
	if (mam_thread() == 0)
		out[mam_block()] = mam_atomic_load32(&table->sum, MAM_RELAXED, MAM_AT_BLOCK);
}

START_TEST(each_block_has_its_own)
{
	uint32_t out[4];
	struct expect what = {
		.kernel = sums, .grid = 4, .block = 40, .argument = out, .zero = sizeof(out)
	};

	for (unsigned int resident = 0; resident < 3; resident++) {
		what.config.resident = resident;
		simt_expect(&what, SIMT_FINE, NULL);
		for (uint32_t i = 0; i < 4; i++)
			ck_assert_uint_eq(out[i], 40 * (i + 1));
	}
}
END_TEST

/* The contents that the previous block left are not reliable; neither are zeros. */
MAM_KERNEL(leaves_traces)
{
	(void)argument;
	MAM_SHARED(struct table, table);
	for (uint32_t i = 0; i < sizeof(table->old); i++) {
		MAM_KASSERT(table->old[i] != 0);
		MAM_KASSERT(table->old[i] != 77);
	}
	mam_syncthreads();
	for (uint32_t i = 0; i < sizeof(table->old); i++)
		table->old[i] = 77;
}

START_TEST(shared_memory_starts_with_pattern)
{
	struct expect what = {
		.kernel = leaves_traces, .grid = 3, .block = 2, .config = { .resident = 1 }
	};

	simt_expect(&what, SIMT_FINE, NULL);
}
END_TEST

MAM_KFN uint32_t *through_a_call(void)
{
	MAM_SHARED(uint32_t, place);
	return place;
}

MAM_KERNEL(calls)
{
	uint32_t *first = through_a_call();

	(void)argument;
	mam_syncthreads();
	MAM_KASSERT(first == through_a_call());
}

START_TEST(same_declaration_returns_same_piece)
{
	struct expect what = { .kernel = calls, .grid = 2, .block = 5 };

	simt_expect(&what, SIMT_FINE, NULL);
}
END_TEST

/* The memory of a block's small piece is not enough for the next block's large one. */
MAM_KERNEL(large)
{
	MAM_SHARED(
		struct { char bytes[48 << 10]; }, shared);

	(void)argument;
	for (size_t i = mam_thread(); i < sizeof(shared->bytes); i += mam_block_threads())
		shared->bytes[i] = 1;
}

START_TEST(larger_piece_of_next_block_fits)
{
	struct expect small = { .kernel = calls, .grid = 2, .block = 5, .seeds = 1 };
	struct expect what = { .kernel = large, .grid = 2, .block = 64, .seeds = 1 };

	for (int i = 0; i < 3; i++) {
		simt_expect(&small, SIMT_FINE, NULL);
		simt_expect(&what, SIMT_FINE, NULL);
	}
}
END_TEST

SIMT_SUITE("simt/shared", each_block_has_its_own, shared_memory_starts_with_pattern,
	   same_declaration_returns_same_piece, larger_piece_of_next_block_fits)
